import { addHisiliconHeader, stripHisiliconHeader } from './hisilicon.ts';

const stepSizes = [
  7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
  130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060,
  1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484,
  7132, 7845, 8630, 9493, 10_442, 11_487, 12_635, 13_899, 15_289, 16_818, 18_500, 20_350, 22_385, 24_623, 27_086,
  29_794, 32_767,
];
const indexChanges = [-1, -1, -1, -1, 2, 4, 6, 8];
const stateBytes = 4;

/** IMA state, stored in the 4 bytes before the codes. */
interface AdpcmState {
  predictor: number;
  index: number;
}

/** Applies one 4-bit code to the state. The new predictor is the sample. */
function step(state: AdpcmState, code: number): void {
  const size = stepSizes[state.index] ?? 7;
  let change = size >> 3;
  if ((code & 4) !== 0) change += size;
  if ((code & 2) !== 0) change += size >> 1;
  if ((code & 1) !== 0) change += size >> 2;
  const predictor = (code & 8) === 0 ? state.predictor + change : state.predictor - change;
  state.predictor = Math.max(-32_768, Math.min(32_767, predictor));
  state.index = Math.max(0, Math.min(88, state.index + (indexChanges[code & 7] ?? 0)));
}

/** Decodes one frame of PT 26: optional Hisilicon header, state, 4-bit codes with the high nibble first. */
export function decodeAdpcm(frame: Buffer): Int16Array {
  const data = stripHisiliconHeader(frame);
  if (data.length < stateBytes) return new Int16Array(0);
  const state: AdpcmState = { predictor: data.readInt16LE(0), index: Math.min(88, data[2] ?? 0) };
  const pcm = new Int16Array((data.length - stateBytes) * 2);
  for (let i = stateBytes, at = 0; i < data.length; i++) {
    const byte = data[i] ?? 0;
    step(state, byte >> 4);
    pcm[at++] = state.predictor;
    step(state, byte & 0x0f);
    pcm[at++] = state.predictor;
  }
  return pcm;
}

/** Encodes PT 26 frames. Each frame carries the state after the previous one, so use one encoder per stream. */
export class AdpcmEncoder {
  readonly #state: AdpcmState = { predictor: 0, index: 0 };
  readonly #hasHeader: boolean;

  constructor(options: { hisiliconHeader?: boolean } = {}) {
    this.#hasHeader = options.hisiliconHeader ?? true;
  }

  /** Encodes one frame of an even number of samples (320 for 40 ms). */
  encode(pcm: Int16Array): Buffer {
    if (pcm.length % 2 !== 0) throw new RangeError('an ADPCM frame must have an even number of samples');
    const frame = Buffer.alloc(stateBytes + pcm.length / 2);
    frame.writeInt16LE(this.#state.predictor, 0);
    frame[2] = this.#state.index;
    for (let i = 0; i < pcm.length; i += 2) {
      const high = this.#code(pcm[i] ?? 0);
      frame[stateBytes + i / 2] = (high << 4) | this.#code(pcm[i + 1] ?? 0);
    }
    return this.#hasHeader ? addHisiliconHeader(frame) : frame;
  }

  #code(sample: number): number {
    const size = stepSizes[this.#state.index] ?? 7;
    let rest = sample - this.#state.predictor;
    let code = 0;
    if (rest < 0) {
      code = 8;
      rest = -rest;
    }
    if (rest >= size) {
      code |= 4;
      rest -= size;
    }
    if (rest >= size >> 1) {
      code |= 2;
      rest -= size >> 1;
    }
    if (rest >= size >> 2) code |= 1;
    step(this.#state, code);
    return code;
  }
}
