/** Live video, recorded video and talk of one channel are three streams: their cameras connect to different ports. */
export const streamKinds = ['live', 'history', 'talk'] as const;

/** One of `streamKinds`. */
export type StreamKind = (typeof streamKinds)[number];

/** Identifies one stream. `imei` is the canonical number. */
export interface StreamId {
  readonly kind: StreamKind;
  readonly imei: string;
  readonly channel: number;
}

/**
 * Request to a camera. Key `stream-request:<kind>:{<imei>}:<channel>`; it exists until the camera connects, refuses or
 * times out.
 */
export interface StreamRequest {
  /** Unique for each request, so that only its creator cancels it. */
  readonly requestId: string;
  /** asking: the command is pending. acknowledged: the camera accepted, and the channel counts as streaming. */
  readonly status: 'asking' | 'acknowledged';
  readonly dataType: number;
  readonly streamType: number;
  /**
   * Recordings: `arrival` if playback starts at a speed other than 1, backwards or in leaps; otherwise the device's
   * clock.
   */
  readonly pace?: 'device' | 'arrival';
  /**
   * True if a viewer chose the main stream: the channel returns to the sub stream when no viewer wants it any more.
   * False, and absent, if it stays.
   */
  readonly returnsToSub?: boolean;
  /** True if the camera streams to an external media server: no packet arrives here. */
  readonly isForeign: boolean;
  readonly requestedAtMs: number;
  readonly correlationId: string;
  /** Time until which an acknowledged camera must connect. */
  readonly firstPacketDueMs?: number;
  /** Account whose streams are counted; absent without a vehicle. */
  readonly accountId?: number;
  /** Where the camera was sent by 0x9101, of live video; absent in requests of earlier releases. */
  readonly address?: CameraTarget;
  /** Present while the stream moves to another pod, and in the claim of that pod. */
  readonly move?: StreamMove;
}

/** Address of the media servers in 0x9101; port 0 disables the protocol. */
interface CameraTarget {
  readonly server: string;
  readonly tcpPort: number;
  readonly udpPort: number;
}

/** A stream that leaves a stopping pod. */
interface StreamMove {
  readonly fromPodId: string;
  /** Where the HLS of the next pod continues; absent if no player has read it. */
  readonly hls?: HlsContinuation;
}

/** Numbers with which HLS continues after a discontinuity. */
export interface HlsContinuation {
  /** Media sequence number of the next segment. */
  readonly sequence: number;
  /** Number of the next initialization section. */
  readonly initIndex: number;
  /** Discontinuity sequence number of the next segment. */
  readonly discontinuity: number;
}

/** The media pod that owns a stream. Key `stream:<kind>:{<imei>}:<channel>`, renewed by its owner. */
export interface StreamClaim {
  readonly podId: string;
  /** Base URL of the owner's FLV server for other services. */
  readonly url: string;
  /**
   * Rises with every claim (milliseconds of the Redis clock; cjson keeps 14 digits). A later claim wins, so that a
   * dying pod cannot hide a live one.
   */
  readonly generation: number;
  readonly startedAtMs: number;
  readonly request: StreamRequest | null;
}
