export { type AlarmName, alarmBits } from './alarms.ts';
export type { AttachmentFileRecord, AttachmentUploadRecord } from './attachments/attachment-job.ts';
export type * from './attachments/attachment-options.ts';
export type { SafetyAlarmRecord } from './attachments/attachments.ts';
export { captureCameraFiles } from './attachments/camera-files.ts';
export type { AlarmFile, SafetyAlarm, TagBytes } from './attachments/safety-alarms.ts';
export * from './behaviour.ts';
export { builtInTracks, trackForVehicle } from './built-in-tracks.ts';
export * from './camera-clips.ts';
export { standardZoneMinutes, toCameraTime, toEpochMs } from './camera-clock.ts';
export { createDemoTerminal, type DemoTerminalOptions } from './demo-terminal.ts';
export { type FrameRecord, type PlatformMessage, WaitTimeoutError } from './frame-log.ts';
export type { HandlerContext } from './handlers/handler-context.ts';
export { createGeneralResponse } from './handlers/handler-context.ts';
export { sendPictures } from './handlers/pictures.ts';
export * from './load-fleet.ts';
export type { ReportRecord } from './location-journal.ts';
export { type Clip, type ClipFrame, type ClipOptions, createClip, getDefaultCacheDir } from './media/clip.ts';
export {
  type AudioCodec,
  type ClipSpec,
  defaultClipSpec,
  resolveClipSpec,
  type VideoCodec,
} from './media/clip-spec.ts';
export { FfmpegError, getFfmpegPath, runFfmpeg } from './media/ffmpeg.ts';
export * from './media/frame-hashes.ts';
export type { SentFrame, StreamKind, StreamRecord, VoiceFrame } from './media/stream-record.ts';
export { createTone, joinSamples, measureTone, type ToneMeasurement } from './media/tone.ts';
export type { OutgoingFrame } from './message-encoder.ts';
export type { ReceivedControl, ReceivedText } from './received-commands.ts';
export type { RecorderOptions } from './recorder.ts';
export * from './recordings.ts';
export * from './send-events.ts';
export type { TerminalState } from './session.ts';
export { SimulatedTerminal } from './terminal.ts';
export type * from './terminal-options.ts';
export * from './track.ts';
export type { UploadFile } from './uploads/upload-files.ts';
export type { UploadRecord } from './uploads/upload-job.ts';
export type * from './uploads/upload-options.ts';
