import type { Edition } from '@fleet/jt808';
import type { SimBytes } from '@fleet/jt1078';
import type { AttachmentOptions } from './attachments/attachment-options.ts';
import type { PlatformMessage } from './frame-log.ts';
import type { Clip } from './media/clip.ts';
import type { AudioCodec, VideoCodec } from './media/clip-spec.ts';
import type { RecorderOptions } from './recorder.ts';
import type { Recording } from './recordings.ts';
import type { Track } from './track.ts';
import type { UploadOptions } from './uploads/upload-options.ts';

/** Message that a terminal sends: id and whole body, split into parts where it is long. */
export interface TerminalMessage {
  messageId: number;
  body: Buffer;
  /** Parts that are lost on the way; the platform may ask for them again. */
  lostParts?: readonly number[] | undefined;
}

/** How a terminal sends its list of recordings (0x1205) when 0x9205 asks for it. */
export interface ListOptions {
  /** Several whole messages with so many items each, all stating the total of the list, instead of one. */
  listItemsPerMessage?: number | undefined;
  /** Items that the total counts and that never come. */
  listMissingItems?: number | undefined;
  /** Parts of the (first) message that are lost on the way. */
  listLostParts?: readonly number[] | undefined;
  /** Says 0x0001 with success before the list. */
  listAcknowledged?: boolean | undefined;
}

/** Full control over an answer: messages to send, an empty list for silence, undefined for what a good terminal does. */
export type RespondHook = (message: PlatformMessage) => readonly TerminalMessage[] | undefined;

/** Which picture a channel shows on its main and on its sub stream. */
export type ClipProvider = (channel: number, stream: 'main' | 'sub') => Promise<Clip>;

/** Waits between connection attempts: each is twice the one before, up to the longest, minus a random part of up to half. */
export interface ReconnectOptions {
  minMs: number;
  maxMs: number;
}

/** Codecs of a terminal's cameras. */
export interface CameraCodecs {
  video: VideoCodec;
  audio: AudioCodec;
}

/** Settings of a simulated terminal; only the address and the number are needed. */
export interface TerminalOptions extends UploadOptions, AttachmentOptions, ListOptions {
  host: string;
  port: number;
  /** 12 or 20 digits. */
  phone: string;
  edition?: Edition | undefined;
  /** Cameras, numbered from 1. */
  channels?: number | undefined;
  track?: Track | undefined;
  /** Where on the track to start. */
  trackOffsetMs?: number | undefined;
  /** 0 switches reports off; `report()` still sends one. */
  reportIntervalMs?: number | undefined;
  /** 0 switches heartbeats off. */
  heartbeatMs?: number | undefined;
  /** How long an acknowledgement may take before something is sent again. */
  replyTimeoutMs?: number | undefined;
  /** False: stays away once the connection is lost. */
  reconnect?: Partial<ReconnectOptions> | false | undefined;
  /** Clock of the terminal against UTC; GMT+8 by the standard. */
  zoneMinutes?: number | undefined;
  plateNo?: string | undefined;
  plateColor?: number | undefined;
  manufacturerId?: string | undefined;
  terminalModel?: string | undefined;
  terminalId?: string | undefined;
  /** Code of an earlier registration: skips 0x0100. */
  authCode?: string | undefined;
  /** Pictures and sound; without it the terminal has no cameras and refuses stream requests. */
  clips?: ClipProvider | undefined;
  /** Codecs that 0x1003 states; those of the clips. */
  camera?: CameraCodecs | undefined;
  /** Sent to this host instead of the one that the platform names. */
  mediaHost?: string | undefined;
  /** SIM width of media packets: 6 bytes, or 10 as most terminals of 2019 do. */
  mediaSimBytes?: SimBytes | undefined;
  /** What the cameras do once a stream was accepted. */
  media?: 'normal' | 'connectSilently' | 'neverConnect' | undefined;
  /** Answer to 0x9201: the list by the standard, 0x0001 as many terminals do, or both. */
  playbackResponse?: 'list' | 'general' | 'both' | undefined;
  /** Plays recordings as fast as the network takes them. */
  unpacedPlayback?: boolean | undefined;
  /** What is on the disk. */
  recordings?: readonly Recording[] | undefined;
  /** Cameras that record all the time, besides `recordings`. */
  recorder?: RecorderOptions | undefined;
  /** How a restart (0x8105) and the like keep the terminal away. */
  restartMs?: number | undefined;
  respond?: RespondHook | undefined;
  /** Frames, messages and sent media frames that are remembered. */
  logLimit?: number | undefined;
  /** Told what happens, one line each. */
  onLog?: ((line: string) => void) | undefined;
}

/** Options with every default filled in. */
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
