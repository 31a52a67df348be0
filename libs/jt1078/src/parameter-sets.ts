import { encodeAvcDecoderConfiguration, H264Nal, parseH264Sps, type SpsInfo } from './h264.ts';
import { encodeHevcDecoderConfiguration, getH265NalType, H265Nal, parseH265Sps } from './h265.ts';
import { BitReader, unescapeNal } from './nal-units.ts';
import type { VideoCodec } from './video-codec.ts';

/**
 * Limit of the configuration records, which count sequence parameter sets in 5 bits, picture parameter sets in 8, and
 * lengths in 16.
 */
const maxSets = 31;
const maxSetBytes = 4096;

type ParameterSetKind = 'vps' | 'sps' | 'pps';

/** Holds the current parameter sets by kind and id, with a flag for changes since the last sequence header. */
export class ParameterSets {
  info: SpsInfo | null = null;
  /** True if a set was added or changed. */
  isChanged = false;
  readonly #codec: VideoCodec;
  readonly #sets: Record<ParameterSetKind, Map<number, Buffer>> = { vps: new Map(), sps: new Map(), pps: new Map() };

  constructor(codec: VideoCodec) {
    this.#codec = codec;
  }

  get isComplete(): boolean {
    const { vps, sps, pps } = this.#sets;
    return this.info !== null && sps.size > 0 && pps.size > 0 && (this.#codec === 'h264' || vps.size > 0);
  }

  /** Adds a parameter set as received: a view, copied when stored. */
  add(unit: Buffer): void {
    const kind = this.#detectKind(unit);
    if (kind === null || unit.length > maxSetBytes) return;
    const sets = this.#sets[kind];
    const id = this.#readId(kind, unit);
    if (sets.get(id)?.equals(unit)) return;
    if (kind === 'sps') {
      const info = this.#codec === 'h264' ? parseH264Sps(unit) : parseH265Sps(unit);
      if (info === null) return;
      this.info = info;
      // Picture parameter sets belong to their sequence parameter set and are sent again after a new one.
      this.#sets.pps.clear();
    }
    if (sets.size >= maxSets && !sets.has(id)) sets.clear();
    sets.set(id, Buffer.from(unit));
    this.isChanged = true;
  }

  /** Encodes the decoder configuration record. */
  encodeConfiguration(info: SpsInfo): Buffer {
    const setsOfKind = (kind: ParameterSetKind): Buffer[] => [...this.#sets[kind].values()];
    return this.#codec === 'h264'
      ? encodeAvcDecoderConfiguration(setsOfKind('sps'), setsOfKind('pps'), info)
      : encodeHevcDecoderConfiguration(setsOfKind('vps'), setsOfKind('sps'), setsOfKind('pps'), info);
  }

  #detectKind(unit: Buffer): ParameterSetKind | null {
    const first = unit[0] ?? 0;
    if (this.#codec === 'h264') {
      const type = first & 0x1f;
      return type === H264Nal.SPS ? 'sps' : type === H264Nal.PPS ? 'pps' : null;
    }
    const type = getH265NalType(first);
    return type === H265Nal.VPS ? 'vps' : type === H265Nal.SPS ? 'sps' : type === H265Nal.PPS ? 'pps' : null;
  }

  #readId(kind: ParameterSetKind, unit: Buffer): number {
    if (kind === 'vps') return (unit[2] ?? 0) >> 4;
    // In H.265 the id of a sequence parameter set follows the profile; devices have only one set.
    if (kind === 'sps' && this.#codec === 'h265') return 0;
    const at = kind === 'sps' ? 4 : this.#codec === 'h264' ? 1 : 2;
    return new BitReader(unescapeNal(unit.subarray(0, at + 8)), at).unsigned();
  }
}
