import type { MediaKind, SimBytes } from './tables.ts';

/** Complete frame as sent by the terminal. `data` is valid only inside the callback that receives the frame. */
export interface MediaFrame {
  kind: MediaKind;
  sim: string;
  simBytes: SimBytes;
  channel: number;
  payloadType: number;
  /** Data type of the packets. It may be wrong, so decide by NAL type instead. */
  dataType: number;
  /** Device timestamp in two halves; 0 for transparent data. */
  timestampHigh: number;
  timestampLow: number;
  lastIFrameIntervalMs: number | null;
  lastFrameIntervalMs: number | null;
  /** Number of packets that carried the frame. */
  packets: number;
  /** Arrival time of the last packet, as passed to `push`. */
  arrivalMs: number;
  /** True if reference video was lost before this frame: decoding resumes only at the next key frame. */
  discontinuity: boolean;
  data: Buffer;
}
