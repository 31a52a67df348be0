/** Tables of one rate of ITU-T G.726, in the units of its reference algorithm. */
interface RateTables {
  /** Decision levels of the quantizer (tables 1 to 4). */
  readonly decisions: readonly number[];
  /** Logarithm of the quantized difference, by code. */
  readonly logarithms: readonly number[];
  /** Multipliers of the scale factor, by code. */
  readonly scaleMultipliers: readonly number[];
  /** Adaptation speed, by code. */
  readonly speeds: readonly number[];
}

/** Completes a table for the second half of the codes, which mirror the first. */
const mirror = (half: readonly number[]): number[] => [...half, ...half.toReversed()];

const tables: Readonly<Record<2 | 3 | 4 | 5, RateTables>> = {
  2: {
    decisions: [261],
    logarithms: mirror([116, 365]),
    scaleMultipliers: mirror([-704, 14_048]),
    speeds: mirror([0, 0xe00]),
  },
  3: {
    decisions: [8, 218, 331],
    logarithms: mirror([-2048, 135, 273, 373]),
    scaleMultipliers: mirror([-128, 960, 4384, 18_624]),
    speeds: mirror([0, 0x200, 0x400, 0xe00]),
  },
  4: {
    decisions: [-124, 80, 178, 246, 300, 349, 400],
    logarithms: mirror([-2048, 4, 135, 213, 273, 323, 373, 425]),
    scaleMultipliers: mirror([-384, 576, 1312, 2048, 3584, 6336, 11_360, 35_904]),
    speeds: mirror([0, 0, 0, 0x200, 0x200, 0x200, 0x600, 0xe00]),
  },
  5: {
    decisions: [-122, -16, 68, 139, 198, 250, 298, 339, 378, 413, 445, 475, 502, 528, 553],
    logarithms: mirror([-2048, -66, 28, 104, 169, 224, 274, 318, 358, 395, 429, 459, 488, 514, 539, 566]),
    scaleMultipliers: mirror([
      448, 448, 768, 1248, 1280, 1312, 1856, 3200, 4512, 5728, 7008, 8960, 11_456, 14_080, 16_928, 22_272,
    ]),
    speeds: mirror([0, 0, 0, 0, 0, 0x200, 0x200, 0x200, 0x200, 0x200, 0x400, 0x600, 0x800, 0xa00, 0xc00, 0xc00]),
  },
};

const minScale = 544;
const maxScale = 5120;
const zeroCoefficients = 6;
/** Floating-point form of 0 and of the most negative number: 4 bits exponent, 6 bits mantissa, sign. */
const floatZero = 0x20;
const floatNegativeZero = floatZero - 0x400;

const bitLength = (value: number): number => (value <= 0 ? 0 : Math.min(15, 32 - Math.clz32(value)));
const clamp = (value: number, min: number, max: number): number => Math.max(min, Math.min(max, value));

/** Converts a magnitude to the floating-point form of the predictor. */
function toFloat(magnitude: number, isNegative: boolean): number {
  if (magnitude === 0) return isNegative ? floatNegativeZero : floatZero;
  const exponent = bitLength(magnitude);
  const value = (exponent << 6) + ((magnitude << 6) >> exponent);
  return isNegative ? value - 0x400 : value;
}

/** Multiplies a coefficient by a number in floating-point form. */
function multiply(coefficient: number, float: number): number {
  const magnitude = coefficient > 0 ? coefficient : -coefficient & 0x1fff;
  const exponent = bitLength(magnitude) - 6;
  const mantissa = magnitude === 0 ? 32 : exponent >= 0 ? magnitude >> exponent : magnitude << -exponent;
  const productExponent = exponent + ((float >> 6) & 0x0f) - 13;
  const productMantissa = (mantissa * (float & 0x3f) + 0x30) >> 4;
  const product =
    productExponent >= 0 ? (productMantissa << productExponent) & 0x7fff : productMantissa >> -productExponent;
  return (coefficient ^ float) < 0 ? -product : product;
}

/** Adaptive state that encoder and decoder share (G.726, section 4). Works on samples of 14 bits. */
class AdaptiveState {
  readonly #codeSize: 2 | 3 | 4 | 5;
  readonly #tables: RateTables;
  #slowScale = 34_816;
  #fastScale = minScale;
  #shortAverage = 0;
  #longAverage = 0;
  #speed = 0;
  #poles: [number, number] = [0, 0];
  #zeros = Array.from({ length: zeroCoefficients }, () => 0);
  #differences = Array.from({ length: zeroCoefficients }, () => floatZero);
  #reconstructed: [number, number] = [floatZero, floatZero];
  #signs: [number, number] = [0, 0];
  #isTone = false;

  constructor(codeSize: 2 | 3 | 4 | 5) {
    this.#codeSize = codeSize;
    this.#tables = tables[codeSize];
  }

  /** Returns the code of a sample, and adapts to it. */
  encode(sample: number): number {
    const prediction = this.#predict();
    const scale = this.#scale();
    const code = this.#quantize(sample - prediction.signal, scale);
    this.#adapt(code, scale, prediction);
    return code;
  }

  /** Returns the sample of a code, and adapts to it. */
  decode(code: number): number {
    return this.#adapt(code, this.#scale(), this.#predict());
  }

  #predict(): { readonly zeros: number; readonly signal: number } {
    let zeros = 0;
    for (let i = 0; i < zeroCoefficients; i++) zeros += multiply((this.#zeros[i] ?? 0) >> 2, this.#differences[i] ?? 0);
    const poles =
      multiply(this.#poles[1] >> 2, this.#reconstructed[1]) + multiply(this.#poles[0] >> 2, this.#reconstructed[0]);
    return { zeros: zeros >> 1, signal: (zeros + poles) >> 1 };
  }

  #scale(): number {
    if (this.#speed >= 256) return this.#fastScale;
    const slow = this.#slowScale >> 6;
    const difference = this.#fastScale - slow;
    const weight = this.#speed >> 2;
    if (difference > 0) return slow + ((difference * weight) >> 6);
    return difference < 0 ? slow + ((difference * weight + 0x3f) >> 6) : slow;
  }

  #quantize(difference: number, scale: number): number {
    const magnitude = Math.abs(difference);
    const exponent = bitLength(magnitude >> 1);
    const mantissa = ((magnitude << 7) >> exponent) & 0x7f;
    const level = (exponent << 7) + mantissa - (scale >> 2);
    const { decisions } = this.#tables;
    const found = decisions.findIndex((decision) => level < decision);
    const index = found === -1 ? decisions.length : found;
    const highest = (decisions.length << 1) + 1;
    if (difference < 0) return highest - index;
    // At 16 kbit/s all four codes are used; otherwise code 0 is not.
    if (index === 0) return this.#codeSize === 2 ? 0 : highest;
    return index;
  }

  /** Returns the quantized difference: a magnitude, minus 0x8000 if it is negative. */
  #dequantize(code: number, scale: number): number {
    const isNegative = (code & (1 << (this.#codeSize - 1))) !== 0;
    const logarithm = (this.#tables.logarithms[code] ?? 0) + (scale >> 2);
    if (logarithm < 0) return isNegative ? -0x8000 : 0;
    const magnitude = ((128 + (logarithm & 127)) << 7) >> (14 - ((logarithm >> 7) & 15));
    return isNegative ? magnitude - 0x8000 : magnitude;
  }

  #adapt(code: number, scale: number, prediction: { readonly zeros: number; readonly signal: number }): number {
    const difference = this.#dequantize(code, scale);
    const magnitude = difference & 0x7fff;
    const limited = magnitude & (this.#codeSize === 5 ? 0x7fff : 0x3fff);
    const sample = difference < 0 ? prediction.signal - limited : prediction.signal + difference;
    const residual = sample + prediction.zeros - prediction.signal;
    const isTransition = this.#isTransition(magnitude);
    this.#adaptScale(code, scale);
    this.#adaptPredictor(difference, residual, isTransition);
    this.#remember(difference, sample, residual);
    this.#adaptSpeed(code, scale, isTransition);
    return sample;
  }

  /** Detects the end of a tone, such as between the symbols of a modem. */
  #isTransition(magnitude: number): boolean {
    if (!this.#isTone) return false;
    const integer = this.#slowScale >> 15;
    const threshold = integer > 9 ? 31 << 10 : (32 + ((this.#slowScale >> 10) & 0x1f)) << integer;
    return magnitude > (threshold + (threshold >> 1)) >> 1;
  }

  #adaptScale(code: number, scale: number): void {
    const multiplier = this.#tables.scaleMultipliers[code] ?? 0;
    this.#fastScale = clamp(scale + ((multiplier - scale) >> 5), minScale, maxScale);
    this.#slowScale += this.#fastScale + (-this.#slowScale >> 6);
  }

  #adaptPredictor(difference: number, residual: number, isTransition: boolean): void {
    const sign = residual < 0 ? 1 : 0;
    if (isTransition) {
      this.#poles = [0, 0];
      this.#zeros.fill(0);
    } else {
      this.#adaptPoles(sign, residual);
      const shift = this.#codeSize === 5 ? 9 : 8;
      for (let i = 0; i < zeroCoefficients; i++) {
        let value = this.#zeros[i] ?? 0;
        value -= value >> shift;
        if ((difference & 0x7fff) !== 0) value += (difference ^ (this.#differences[i] ?? 0)) >= 0 ? 128 : -128;
        this.#zeros[i] = value;
      }
    }
  }

  #adaptPoles(sign: number, residual: number): void {
    const isOpposite = sign !== this.#signs[0];
    let [first, second] = this.#poles;
    second -= second >> 7;
    if (residual !== 0) {
      const change = isOpposite ? first : -first;
      if (change < -8191) second -= 0x100;
      else if (change > 8191) second += 0xff;
      else second += change >> 5;
      second = clamp(second + (sign !== this.#signs[1] ? -0x80 : 0x80), -12_288, 12_288);
    }
    first -= first >> 8;
    if (residual !== 0) first += isOpposite ? -192 : 192;
    const limit = 15_360 - second;
    this.#poles = [clamp(first, -limit, limit), second];
  }

  #remember(difference: number, sample: number, residual: number): void {
    this.#differences.pop();
    this.#differences.unshift(toFloat(difference & 0x7fff, difference < 0));
    const float = sample > -32_768 ? toFloat(Math.abs(sample), sample < 0) : floatNegativeZero;
    this.#reconstructed = [float, this.#reconstructed[0]];
    this.#signs = [residual < 0 ? 1 : 0, this.#signs[0]];
  }

  #adaptSpeed(code: number, scale: number, isTransition: boolean): void {
    this.#isTone = !isTransition && this.#poles[1] < -11_776;
    const speed = this.#tables.speeds[code] ?? 0;
    this.#shortAverage += (speed - this.#shortAverage) >> 5;
    this.#longAverage += ((speed << 2) - this.#longAverage) >> 7;
    const isChanging = Math.abs((this.#shortAverage << 2) - this.#longAverage) >= this.#longAverage >> 3;
    if (isTransition) this.#speed = 256;
    else if (scale < 1536 || this.#isTone || isChanging) this.#speed += (0x200 - this.#speed) >> 4;
    else this.#speed += -this.#speed >> 4;
  }
}

/** Decodes G.726 at 8 kHz with codes packed from the lowest bit (`g726le`). Use one for each stream. */
export class G726Decoder {
  readonly #codeSize: number;
  readonly #state: AdaptiveState;

  constructor(codeSize: 2 | 3 | 4 | 5) {
    this.#codeSize = codeSize;
    this.#state = new AdaptiveState(codeSize);
  }

  /** Decodes one frame of whole codes to 16-bit samples. */
  decode(data: Uint8Array): Int16Array {
    const pcm = new Int16Array(Math.floor((data.length * 8) / this.#codeSize));
    let bits = 0;
    let bitCount = 0;
    let at = 0;
    for (const byte of data) {
      bits |= byte << bitCount;
      bitCount += 8;
      for (; bitCount >= this.#codeSize; bitCount -= this.#codeSize) {
        pcm[at++] = clamp(this.#state.decode(bits & ((1 << this.#codeSize) - 1)) << 2, -32_768, 32_767);
        bits >>= this.#codeSize;
      }
    }
    return pcm;
  }
}

/** Encodes G.726 at 8 kHz with codes packed from the lowest bit (`g726le`). Use one for each stream. */
export class G726Encoder {
  readonly #codeSize: number;
  readonly #state: AdaptiveState;

  constructor(codeSize: 2 | 3 | 4 | 5) {
    this.#codeSize = codeSize;
    this.#state = new AdaptiveState(codeSize);
  }

  /** Encodes one frame, whose number of samples must be a multiple of 8. */
  encode(pcm: Int16Array): Buffer {
    if (pcm.length % 8 !== 0) throw new RangeError('a G.726 frame must have a multiple of 8 samples');
    const data = Buffer.alloc((pcm.length * this.#codeSize) / 8);
    let bits = 0;
    let bitCount = 0;
    let at = 0;
    for (const sample of pcm) {
      bits |= this.#state.encode(sample >> 2) << bitCount;
      bitCount += this.#codeSize;
      for (; bitCount >= 8; bitCount -= 8) {
        data[at++] = bits & 0xff;
        bits >>= 8;
      }
    }
    return data;
  }
}
