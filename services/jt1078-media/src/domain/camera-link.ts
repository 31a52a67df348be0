import type { StreamId } from '@fleet/storage';

/** Connection of a camera, as seen by a stream. */
export interface CameraLink {
  readonly transport: 'tcp' | 'udp';
  readonly remote: string;
  /** Detaches the stream. A connection without another stream is closed after this time. */
  release(id: StreamId, reason: string, closeAfterMs: number): void;
  /** Stops reading a recording until `resume`. */
  pause(id: StreamId): void;
  resume(id: StreamId): void;
  /** Sends a packet to the camera. Returns false if it was dropped, as the camera does not read. */
  send(packet: Buffer): boolean;
}
