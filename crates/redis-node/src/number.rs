//! Floating point numbers in text, as C writes them.

/// C's `%.17g`: enough digits to read the same number back.
pub(crate) fn seventeen_digits(number: f64) -> String {
    const DIGITS: i32 = 17;
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:.16e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return without_trailing_zeros(&format!("{number:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "{}e{sign}{:02}",
        without_trailing_zeros(mantissa),
        exponent.abs()
    )
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: what `printf("%.17g")` of glibc prints.
    #[test]
    fn numbers_are_written_as_c_writes_them() {
        let cases = [
            (3.5, "3.5"),
            (0.1, "0.10000000000000001"),
            (1e20, "1e+20"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (123456789.125, "123456789.125"),
            (0.0001, "0.0001"),
            (0.00001, "1.0000000000000001e-05"),
            (-2.0, "-2"),
            (-0.0, "-0"),
            (1e-300, "1e-300"),
            (f64::INFINITY, "inf"),
        ];
        for (number, text) in cases {
            assert_eq!(seventeen_digits(number), text);
        }
    }
}
