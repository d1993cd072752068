# Sidekiq, one process with ten threads, the hiredis driver and YJIT; more threads are not faster.

require "json"
require "sidekiq"
require "sidekiq/api"
require "sidekiq/launcher"

BATCH = 1_000
THREADS = 10
WARMING = 20
QUIET_SECONDS = 1
TICK_SECONDS = 0.001
PAUSE_SECONDS = 0.012
NOTE = "alpha@example.org to omega@example.org, 42 EUR, a note"

VERB, STORE, COUNT = ARGV
JOBS = Integer(COUNT)
Sidekiq.redis = { url: STORE, driver: :hiredis, size: THREADS + 5 }
# Sidekiq 6.4 calls redis-rb in a way that it warns of, once a job.
Redis.silence_deprecations = true
Sidekiq.logger.level = Logger::ERROR

# What a worker notes of each delivery, and when a run is over: ../rust/deliveries says more, and does the same.
class Deliveries
  def initialize(jobs)
    @jobs = jobs
    @times = Array.new(jobs, 0)
    @latencies = Array.new(jobs, 0.0)
    @lock = Mutex.new
    @delivered = @unknown = 0
  end

  def note(number, sent)
    now = Time.now.to_f
    @lock.synchronize do
      @first ||= @last = now
      if number < @jobs
        @times[number] += 1
        @latencies[number] = now - sent
      else
        @unknown += 1
      end
      @last = now
      @delivered += 1
    end
  end

  # Returns when every job was delivered, or none is for a second, and the store holds none. The block asks the store.
  def wait
    loop do
      if @delivered >= @jobs - 1 || quiet?
        return if yield.zero? && (@delivered >= @jobs || quiet?)
      end
      sleep TICK_SECONDS
    end
  end

  def quiet?
    @last && Time.now.to_f - @last > QUIET_SECONDS
  end

  def report
    seconds = Time.now.to_f - @first
    latencies = @latencies.drop(WARMING).sort
    at = ->(share) { (latencies[(latencies.size * share).floor] || 0) * 1e3 }
    { delivered: @delivered, missing: @times.count(0), repeated: @times.count { |times| times > 1 }, unknown: @unknown,
      seconds: seconds, p50_ms: at.(0.5), p99_ms: at.(0.99) }
  end
end

DELIVERIES = Deliveries.new(JOBS)

class Noop
  include Sidekiq::Worker

  def perform(number, sent, _note)
    DELIVERIES.note(number, sent)
  end
end

def job(number) = [number, Time.now.to_f, NOTE]

def say(report)
  puts JSON.generate(report)
  $stdout.flush
end

def submit
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  say(submitted: JOBS, seconds: Process.clock_gettime(Process::CLOCK_MONOTONIC) - began)
end

def work
  launcher = Sidekiq::Launcher.new(Sidekiq.options.merge(queues: ["default"], concurrency: THREADS))
  launcher.run
  say(ready: true)
  queue = Sidekiq::Queue.new
  DELIVERIES.wait { queue.size }
  say(DELIVERIES.report)
end

case VERB
when "bulk"
  submit do
    (0...JOBS).each_slice(BATCH) { |batch| Sidekiq::Client.push_bulk("class" => Noop, "args" => batch.map { |number| job(number) }) }
  end
when "single"
  submit { JOBS.times { |number| Noop.perform_async(*job(number)) } }
when "idle"
  submit do
    JOBS.times do |number|
      sleep PAUSE_SECONDS
      Noop.perform_async(*job(number))
    end
  end
when "work"
  work
end
exit!(0)
