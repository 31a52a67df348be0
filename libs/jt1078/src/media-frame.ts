import type { MediaKind, SimBytes } from './tables.ts';

/** A whole frame as the terminal sent it. `data` is valid only inside the callback that hands it out. */
export interface MediaFrame {
  kind: MediaKind;
  sim: string;
  simBytes: SimBytes;
  channel: number;
  payloadType: number;
  /** As in the packets; decide by NAL type instead, as the nibble may lie. */
  dataType: number;
  /** Device timestamp in two halves; 0 for transparent data. */
  timestampHigh: number;
  timestampLow: number;
  lastIFrameIntervalMs: number | null;
  lastFrameIntervalMs: number | null;
  /** Packets the frame came in. */
  packets: number;
  /** Arrival of the last packet, as handed to `push`. */
  arrivalMs: number;
  /** Video that later frames may refer to was lost before this frame: what follows decodes only from the next key frame. */
  discontinuity: boolean;
  data: Buffer;
}
