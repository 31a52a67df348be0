/** Samples per second of talk. */
const voiceSampleRate = 8000;

/** Returns samples of a sine. `fromSample` continues an earlier part without a click. */
export function createTone(
  frequencyHz: number,
  { samples, fromSample = 0, amplitude = 8_000 }: { samples: number; fromSample?: number; amplitude?: number },
): Int16Array {
  const step = (2 * Math.PI * frequencyHz) / voiceSampleRate;
  return Int16Array.from({ length: samples }, (_unused, index) =>
    Math.round(amplitude * Math.sin((fromSample + index) * step)),
  );
}

/** What `measureTone` finds in samples. */
export interface ToneMeasurement {
  /** Dominant frequency, to 10 Hz. */
  frequencyHz: number;
  /** Part of the energy at that frequency, 0 to 1. */
  share: number;
  /** Amplitude of a sine of the same energy. */
  amplitude: number;
}

const frequencyStepHz = 10;
const maxFrequencyHz = 3_500;
/** Half a second suffices, and bounds the work. */
const maxSamples = 4_000;

/** Measures the dominant tone of the end of a recording. */
export function measureTone(pcm: Int16Array): ToneMeasurement {
  const end = pcm.subarray(Math.max(0, pcm.length - maxSamples));
  let energy = 0;
  for (const sample of end) energy += sample * sample;
  let loudest = { frequencyHz: 0, power: 0 };
  for (let frequencyHz = frequencyStepHz * 10; frequencyHz <= maxFrequencyHz; frequencyHz += frequencyStepHz) {
    const power = measurePower(end, frequencyHz);
    if (power > loudest.power) loudest = { frequencyHz, power };
  }
  return {
    frequencyHz: loudest.frequencyHz,
    share: energy === 0 ? 0 : (2 * loudest.power) / (end.length * energy),
    amplitude: end.length === 0 ? 0 : Math.sqrt((2 * energy) / end.length),
  };
}

function measurePower(pcm: Int16Array, frequencyHz: number): number {
  const step = (2 * Math.PI * frequencyHz) / voiceSampleRate;
  let cosine = 0;
  let sine = 0;
  for (let index = 0; index < pcm.length; index += 1) {
    cosine += (pcm[index] ?? 0) * Math.cos(index * step);
    sine += (pcm[index] ?? 0) * Math.sin(index * step);
  }
  return cosine * cosine + sine * sine;
}

/** Joins recordings. */
export function joinSamples(parts: readonly Int16Array[]): Int16Array {
  const joined = new Int16Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
