//! Payloads that the store can't read: parameters, results, checkpoints and messages are encrypted by AES-256-GCM, with a key that
//! only this program has.

#[cfg(not(test))]
use std::{env, error::Error, fs};

#[cfg(not(test))]
use jobbers_worker::Codecs;
use jobbers_worker::{Codec, CodecProblem, ContentKind, prelude::*};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey},
    hmac,
};

/// The bytes of a nonce, in front of what is encrypted.
const NONCE: usize = 12;

/// Encrypts by AES-256-GCM.
///
/// The nonce is derived from the content, by a second key (HMAC-SHA-256 over the kind, the task and the bytes). So a task that is
/// submitted again is encrypted alike and is the same submission, and two contents have two nonces: replace a key before it has
/// encrypted 4 thousand million of them. Contents of two tasks differ in the store even where they are equal.
pub(crate) struct AesGcm {
    id: String,
    contents: LessSafeKey,
    nonces: hmac::Key,
}

impl AesGcm {
    /// A codec of this id with a secret of 32 random bytes, from which both keys are derived.
    pub(crate) fn new(id: &str, secret: &[u8; 32]) -> Result<Self, CodecProblem> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let contents = UnboundKey::new(&AES_256_GCM, hmac::sign(&secret, b"contents").as_ref());
        Ok(Self {
            id: id.to_owned(),
            contents: LessSafeKey::new(contents.map_err(|_| "a key has 32 bytes")?),
            nonces: hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&secret, b"nonces").as_ref()),
        })
    }
}

impl Codec for AesGcm {
    fn id(&self) -> &str {
        &self.id
    }

    fn encode(&self, clear: &[u8], kind: ContentKind, task: &str) -> Result<Vec<u8>, CodecProblem> {
        let mut context = hmac::Context::with_key(&self.nonces);
        // Neither a kind nor an id has a zero byte.
        for part in [kind.as_str().as_bytes(), b"\0", task.as_bytes(), b"\0", clear] {
            context.update(part);
        }
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&context.sign().as_ref()[..NONCE]);
        let mut sealed = clear.to_vec();
        let aad = Aad::from(kind.as_str());
        self.contents
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut sealed)
            .map_err(|_| "it is too large")?;
        Ok([&nonce[..], &sealed].concat())
    }

    fn decode(&self, encoded: &[u8], kind: ContentKind) -> Result<Vec<u8>, CodecProblem> {
        let (nonce, sealed) = encoded.split_at_checked(NONCE).ok_or("it is too short")?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| "it is too short")?;
        let mut sealed = sealed.to_vec();
        let clear = self.contents.open_in_place(nonce, Aad::from(kind.as_str()), &mut sealed);
        Ok(clear.map_err(|_| "another key encrypted it, or it is damaged")?.to_vec())
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Payment {
    pub(crate) card: String,
    pub(crate) cents: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Receipt {
    pub(crate) card: String,
    pub(crate) cents: u64,
}

/// Charges a card. Checkpoint, progress, result and error name the card, and are encrypted too.
#[task(max_retries = 1, retry_delay = "1ms")]
pub(crate) async fn charge(ctx: Context, payment: Payment) -> Result<Receipt, TaskError> {
    let Payment { card, cents } = payment;
    ctx.progress(0.5, format!("asks the bank of {card}")).await?;
    let asked: Option<String> = ctx.last_checkpoint()?;
    if asked.is_none() {
        ctx.checkpoint(&card).await?;
        return Err(TaskError::retry(format!("the bank of {card} is busy")));
    }
    if card.starts_with("4000") {
        return Err(TaskError::fatal(format!("the card {card} is declined")));
    }
    Ok(Receipt { card, cents })
}

#[cfg(not(test))]
#[tokio::main]
#[expect(clippy::print_stdout, reason = "it is what the program is for")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let key = arguments.next().ok_or("name a file with a key of 32 bytes")?;
    let url = arguments.next().ok_or("name a store, such as sqlite://payments.db")?;
    let secret: [u8; 32] = fs::read(key)?.try_into().map_err(|_| "a key has 32 bytes")?;

    // With an earlier key: `Codecs::new(AesGcm::new("2026-11", …)?).reading(AesGcm::new("2025-11", …)?)`.
    let codecs = Codecs::new(AesGcm::new("2026-11", &secret).map_err(|problem| problem.to_string())?);
    let client = Client::open(&url).await?.codec(codecs.clone());
    let engine = client.engine().ok_or("a store, not a manager")?;
    let worker = Worker::new(jobbers_worker::Config::default(), engine.clone()).codec(codecs);
    let shutdown = jobbers_worker::Shutdown::new();
    let worker = tokio::spawn(worker.run_until(shutdown.clone()));

    for card in ["4242424242424242", "4000000000000002"] {
        let charged = charge.delay(&client, Payment { card: card.to_owned(), cents: 1_999 }).await?;
        match charged.result(Duration::from_secs(30)).await {
            Ok(Receipt { card, cents }) => println!("charged {cents} cents to the card that ends in {}", &card[12..]),
            Err(error) => println!("{error}"),
        }
    }
    shutdown.drain.cancel();
    worker.await??;
    Ok(())
}
