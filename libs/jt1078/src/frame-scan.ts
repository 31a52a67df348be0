import { isRecoveryPoint, readH264SliceType } from './h264.ts';
import { NalIndex } from './nal-units.ts';
import { DataType } from './tables.ts';
import {
  detectParameterSetCodec,
  getUnitRole,
  isFirstSlice,
  isNonReference,
  isRandomAccess,
  type UnitRole,
  type VideoCodec,
} from './video-codec.ts';

const lengthPrefixBytes = 4;
const sliceTypeB = 1;
const sliceTypeI = 2;

/** Holds the structure of one frame, scanned without copying. The object is reused from frame to frame. */
export class FrameScan {
  slices = 0;
  parameterSets = 0;
  isRandomAccess = false;
  /** True if the first slice is the first of a picture. */
  isPictureStart = false;
  /** True if the output includes parameter sets. */
  includesParameterSets = false;
  readonly #index = new NalIndex();
  readonly #roles: UnitRole[] = [];
  #data: Buffer = Buffer.alloc(0);
  #codec: VideoCodec = 'h264';
  #hasRecoveryPoint = false;
  #firstSlice = -1;

  get count(): number {
    return this.#index.count;
  }

  get isOverfull(): boolean {
    return this.#index.isOverfull;
  }

  /**
   * Scans a frame and returns its codec, or null without NAL units or a known codec. Parameter sets determine the
   * codec, whatever the payload type. Without them the current codec applies.
   */
  scan(data: Buffer, current: VideoCodec | null, declared: VideoCodec | null): VideoCodec | null {
    const index = this.#index;
    index.scan(data);
    this.#data = data;
    this.slices = 0;
    this.parameterSets = 0;
    this.isRandomAccess = false;
    this.isPictureStart = false;
    this.includesParameterSets = false;
    this.#hasRecoveryPoint = false;
    this.#firstSlice = -1;
    const codec = index.count === 0 ? null : (this.#detectCodec() ?? current ?? declared);
    if (codec === null) return null;
    this.#codec = codec;
    for (let i = 0; i < index.count; i++) this.#classify(i);
    return codec;
  }

  role(index: number): UnitRole {
    return this.#roles[index] ?? 'drop';
  }

  unit(index: number): Buffer {
    return this.#data.subarray(this.#index.start(index), this.#index.end(index));
  }

  /** Returns the length of the frame as length-prefixed units, without units that do not belong in FLV. */
  outputBytes(): number {
    let bytes = 0;
    for (let i = 0; i < this.count; i++) {
      if (this.#isIncluded(i)) bytes += lengthPrefixBytes + this.#index.end(i) - this.#index.start(i);
    }
    return bytes;
  }

  /** Writes the length-prefixed units and returns the offset after them. */
  write(target: Buffer, offset: number): number {
    let at = offset;
    for (let i = 0; i < this.count; i++) {
      if (!this.#isIncluded(i)) continue;
      const start = this.#index.start(i);
      const end = this.#index.end(i);
      at = target.writeUInt32BE(end - start, at);
      this.#data.copy(target, at, start, end);
      at += end - start;
    }
    return at;
  }

  /** Returns true if no other picture refers to this one. */
  isDisposable(subLayers: number): boolean {
    for (let i = 0; i < this.count; i++) {
      const start = this.#index.start(i);
      const isSlice = this.#roles[i] === 'slice';
      if (isSlice && !isNonReference(this.#codec, this.#data[start] ?? 0, this.#data[start + 1] ?? 0, subLayers)) {
        return false;
      }
    }
    return true;
  }

  /** Returns true if the first slice is a B slice (H.264 only, as H.265 declares its reorder depth). */
  isBSlice(): boolean {
    return (
      this.#codec === 'h264' && this.#firstSlice >= 0 && readH264SliceType(this.unit(this.#firstSlice)) === sliceTypeB
    );
  }

  /**
   * Returns true if decoding can begin here without an IDR: at a recovery point, or at intra slices in a frame that the
   * terminal declares as I.
   */
  canStartGop(dataType: number): boolean {
    if (this.#hasRecoveryPoint) return true;
    if (this.#codec !== 'h264' || dataType !== DataType.I || this.#firstSlice < 0) return false;
    return readH264SliceType(this.unit(this.#firstSlice)) === sliceTypeI;
  }

  #detectCodec(): VideoCodec | null {
    for (let i = 0; i < this.count; i++) {
      const start = this.#index.start(i);
      const codec = detectParameterSetCodec(this.#data[start] ?? 0, this.#data[start + 1] ?? 0);
      if (codec !== null) return codec;
    }
    return null;
  }

  #classify(i: number): void {
    const start = this.#index.start(i);
    const first = this.#data[start] ?? 0;
    const role = getUnitRole(this.#codec, first);
    this.#roles[i] = role;
    if (role === 'parameterSet') this.parameterSets++;
    if (role === 'sei' && this.#codec === 'h264' && isRecoveryPoint(this.unit(i))) this.#hasRecoveryPoint = true;
    if (role !== 'slice') return;
    if (this.slices === 0) {
      this.isPictureStart = isFirstSlice(this.#codec, this.#data, start);
      this.#firstSlice = i;
    }
    this.slices++;
    this.isRandomAccess ||= isRandomAccess(this.#codec, first);
  }

  #isIncluded(i: number): boolean {
    const role = this.#roles[i];
    return role !== 'drop' && (role !== 'parameterSet' || this.includesParameterSets);
  }
}
