//! Pictures of products, scaled down: heavy work, on threads of its own.

use jobbers_worker::prelude::*;

use crate::services::Services;

/// A picture of a product, and the widths that pages need. It is a file of the shop's folder.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Picture {
    pub(crate) file: PathBuf,
    pub(crate) widths: Vec<usize>,
}

/// A picture in shades of grey.
pub(crate) struct Graymap {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) shades: Vec<u8>,
}

impl Graymap {
    /// Reads a portable graymap: `P5`, width, height, 255, and a byte for each shade.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut words = bytes.splitn(5, u8::is_ascii_whitespace);
        let is_graymap = words.next()? == b"P5";
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<usize>().ok();
        let (width, height, brightest) = (number()?, number()?, number()?);
        let shades = words.next()?.to_vec();
        let is_whole = width > 0 && width.checked_mul(height)? == shades.len();
        (is_graymap && brightest == 255 && is_whole).then_some(Self { width, height, shades })
    }

    /// The same as bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        [format!("P5 {} {} 255\n", self.width, self.height).as_bytes(), &self.shades].concat()
    }

    /// Scales it to a width. Each shade is the mean of those it covers.
    fn scaled_to(&self, width: usize) -> Self {
        let height = (self.height * width / self.width).max(1);
        let mean = |x: usize, y: usize| {
            let columns = x * self.width / width..((x + 1) * self.width).div_ceil(width);
            let rows = y * self.height / height..((y + 1) * self.height).div_ceil(height);
            let count = columns.len() * rows.len();
            let covered = rows.flat_map(|row| columns.clone().map(move |column| row * self.width + column));
            let sum: usize = covered.map(|place| usize::from(self.shades[place])).sum();
            u8::try_from(sum / count).unwrap_or(u8::MAX)
        };
        let shades = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).map(|(x, y)| mean(x, y)).collect();
        Self { width, height, shades }
    }
}

/// A plain `fn`. Nothing can stop it from outside, so it reports progress, and ends there when it has to.
#[task(blocking, max_retries = 2, timeout = "1m")]
pub(crate) fn scale(ctx: Context, services: State<Services>, job: Picture) -> Result<Vec<PathBuf>, TaskError> {
    let bytes = std::fs::read(services.file(&job.file))?;
    let picture = Graymap::read(&bytes).ok_or_else(|| TaskError::fatal("it is no picture").kind("no_picture"))?;
    let mut scaled = Vec::new();
    for (n, width) in job.widths.iter().enumerate() {
        ctx.blocking_progress(n as f64 / job.widths.len() as f64, format!("{width} px"))?;
        let name = job.file.with_extension(format!("{width}.pgm"));
        services.write(&ctx, &name, picture.scaled_to((*width).clamp(1, picture.width)).write())?;
        scaled.push(name);
    }
    services.note(&ctx, "scaled")?;
    Ok(scaled)
}
