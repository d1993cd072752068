//! From a row of the catalogue to an instrument on a meter of the caller's.

use std::panic::{AssertUnwindSafe, catch_unwind};

use opentelemetry::metrics::{
    AsyncInstrument, Counter, Histogram, Meter, ObservableCounter, ObservableGauge, UpDownCounter,
};

use super::{Kind, Metric};

impl Metric {
    /// The instrument of a [`Kind::Counter`].
    #[must_use]
    pub fn counter(&self, meter: &Meter) -> Counter<u64> {
        debug_assert_eq!(self.kind, Kind::Counter, "{}", self.name);
        meter.u64_counter(self.name).with_unit(self.unit).with_description(self.about).build()
    }

    /// The instrument of a [`Kind::Histogram`], with the row's buckets.
    #[must_use]
    pub fn histogram(&self, meter: &Meter) -> Histogram<f64> {
        debug_assert_eq!(self.kind, Kind::Histogram, "{}", self.name);
        let builder = meter.f64_histogram(self.name).with_unit(self.unit).with_description(self.about);
        builder.with_boundaries(self.buckets.to_vec()).build()
    }

    /// The instrument of a [`Kind::Gauge`] that goes up and down with events.
    #[must_use]
    pub fn up_down(&self, meter: &Meter) -> UpDownCounter<i64> {
        debug_assert_eq!(self.kind, Kind::Gauge, "{}", self.name);
        meter.i64_up_down_counter(self.name).with_unit(self.unit).with_description(self.about).build()
    }

    /// The instrument of a [`Kind::Gauge`] that is read off. `read` must not wait: it runs on the exporter's thread.
    /// Should it panic, this reading is left out; without that, the thread would be gone for good.
    pub fn gauge(
        &self,
        meter: &Meter,
        read: impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static,
    ) -> ObservableGauge<f64> {
        debug_assert_eq!(self.kind, Kind::Gauge, "{}", self.name);
        let builder = meter.f64_observable_gauge(self.name).with_unit(self.unit).with_description(self.about);
        builder.with_callback(move |instrument| guarded(|| read(instrument))).build()
    }

    /// The instrument of a [`Kind::ObservedCounter`]. `read` as for [`Metric::gauge`].
    pub fn observed_counter(
        &self,
        meter: &Meter,
        read: impl Fn(&dyn AsyncInstrument<f64>) + Send + Sync + 'static,
    ) -> ObservableCounter<f64> {
        debug_assert_eq!(self.kind, Kind::ObservedCounter, "{}", self.name);
        let builder = meter.f64_observable_counter(self.name).with_unit(self.unit).with_description(self.about);
        builder.with_callback(move |instrument| guarded(|| read(instrument))).build()
    }
}

fn guarded(read: impl FnOnce()) {
    catch_unwind(AssertUnwindSafe(read)).ok();
}
