import type { Edition } from '@fleet/jt808';
import type { SimBytes } from '@fleet/jt1078';
import type { AttachmentOptions } from './attachments/attachment-options.ts';
import type { PlatformMessage } from './frame-log.ts';
import type { Clip } from './media/clip.ts';
import type { AudioCodec, VideoCodec } from './media/clip-spec.ts';
import type { VoiceOptions } from './media/talk-stream.ts';
import type { RecorderOptions } from './recorder.ts';
import type { Recording } from './recordings.ts';
import type { Track } from './track.ts';
import type { UploadOptions } from './uploads/upload-options.ts';

/** Message of a terminal: id and whole body, split into parts if it is long. */
export interface TerminalMessage {
  messageId: number;
  body: Buffer;
  /** Parts that are lost; the platform may request them again. */
  lostParts?: readonly number[] | undefined;
}

/** Options of the list of recordings (0x1205), the response to 0x9205. */
export interface ListOptions {
  /** Items per message: sends several whole messages, all with the total of the list, instead of one. */
  listItemsPerMessage?: number | undefined;
  /** Items that the total includes but that are never sent. */
  listMissingItems?: number | undefined;
  /** Parts of the (first) message that are lost. */
  listLostParts?: readonly number[] | undefined;
  /** Sends 0x0001 with success before the list. */
  listAcknowledged?: boolean | undefined;
}

/**
 * Replaces a response: returns the messages to send, an empty list for silence, or undefined for the normal handlers.
 */
export type RespondHook = (message: PlatformMessage) => readonly TerminalMessage[] | undefined;

/** Provides the clip of a channel for its main and its sub stream. */
export type ClipProvider = (channel: number, stream: 'main' | 'sub') => Promise<Clip>;

/** Delays between connection attempts: each doubles up to the maximum, minus a random part of up to half. */
export interface ReconnectOptions {
  minMs: number;
  maxMs: number;
}

/** Codecs of a terminal's cameras. */
export interface CameraCodecs {
  video: VideoCodec;
  audio: AudioCodec;
}

/** Options of a simulated terminal; only the address and the number are required. */
export interface TerminalOptions extends UploadOptions, AttachmentOptions, ListOptions {
  host: string;
  port: number;
  /** Terminal number of 12 or 20 digits. */
  phone: string;
  edition?: Edition | undefined;
  /** Number of cameras; they are numbered from 1. */
  channels?: number | undefined;
  track?: Track | undefined;
  /** Start position on the track. */
  trackOffsetMs?: number | undefined;
  /** 0 disables periodic reports; `report()` still sends one. */
  reportIntervalMs?: number | undefined;
  /** 0 disables heartbeats. */
  heartbeatMs?: number | undefined;
  /** Time to wait for an acknowledgement before a message is sent again. */
  replyTimeoutMs?: number | undefined;
  /** False: stays offline once the connection is lost. */
  reconnect?: Partial<ReconnectOptions> | false | undefined;
  /** Offset of the terminal's clock from UTC; GMT+8 by the standard. */
  zoneMinutes?: number | undefined;
  plateNo?: string | undefined;
  plateColor?: number | undefined;
  manufacturerId?: string | undefined;
  terminalModel?: string | undefined;
  terminalId?: string | undefined;
  /** Code of an earlier registration; skips 0x0100. */
  authCode?: string | undefined;
  /** Pictures and audio. Without it the terminal has no cameras and refuses stream requests. */
  clips?: ClipProvider | undefined;
  /** Codecs stated in 0x1003; must match the clips. */
  camera?: CameraCodecs | undefined;
  /** Voice of the driver in talk. */
  voice?: VoiceOptions | undefined;
  /** Streams are sent to this host instead of the one in the request. */
  mediaHost?: string | undefined;
  /** SIM width of media packets: 6 bytes, or 10 as most 2019 terminals use. */
  mediaSimBytes?: SimBytes | undefined;
  /** Action of the cameras once a stream was accepted. */
  media?: 'normal' | 'connectSilently' | 'neverConnect' | undefined;
  /** Response to 0x8801: 0x0805 with ids by the standard or without ids, or 0x0001 as many terminals send. */
  pictureResponse?: 'list' | 'withoutIds' | 'general' | undefined;
  /** Loses the connection after this many parts of the next picture, which it does not send again. */
  picturePartsBeforeDrop?: number | undefined;
  /** Response to 0x9201: the list by the standard, 0x0001 as many terminals send, or both. */
  playbackResponse?: 'list' | 'general' | 'both' | undefined;
  /** Plays recordings as fast as the network accepts them. */
  unpacedPlayback?: boolean | undefined;
  /** Recordings on the disk. */
  recordings?: readonly Recording[] | undefined;
  /** Continuous recording, in addition to `recordings`. */
  recorder?: RecorderOptions | undefined;
  /** Downtime of a restart (0x8105) and similar commands. */
  restartMs?: number | undefined;
  respond?: RespondHook | undefined;
  /** Number of frames, messages and sent media frames to retain. */
  logLimit?: number | undefined;
  /** Receives log lines. */
  onLog?: ((line: string) => void) | undefined;
}

/** Options with all defaults applied. */
export interface ResolvedOptions extends TerminalOptions {
  edition: Edition;
  camera: CameraCodecs;
  channels: number;
  track: Track;
  reportIntervalMs: number;
  heartbeatMs: number;
  replyTimeoutMs: number;
  reconnectWaits: ReconnectOptions | null;
  zoneMinutes: number;
  mediaSimBytes: SimBytes;
  restartMs: number;
  logLimit: number;
}
