export * from './aac.ts';
export * from './adpcm.ts';
export type { TranscodeInput } from './audio-muxer.ts';
export * from './datagram-reader.ts';
export * from './flv-audio.ts';
export * from './flv-script.ts';
export * from './flv-tag.ts';
export * from './flv-video.ts';
export { FrameAssembler } from './frame-assembler.ts';
export * from './g711.ts';
export * from './g726.ts';
export { G726Rate } from './g726-rate.ts';
export * from './h264.ts';
export * from './h265.ts';
export * from './hisilicon.ts';
export type { MediaFrame } from './media-frame.ts';
export * from './mp3.ts';
export {
  Mp4Fragmenter,
  type Mp4FragmentOutput,
  type Mp4Init,
} from './mp4-fragmenter.ts';
export * from './packet.ts';
export * from './packet-splitter.ts';
export * from './read-video-tag.ts';
export * from './reorder-window.ts';
export * from './stream-muxer.ts';
export type { TimestampSource } from './stream-timeline.ts';
export * from './tables.ts';
export { TranscodeClock } from './transcode-clock.ts';
export { createVoiceEncoder, VoiceDecoder, type VoiceEncoder, voiceSampleRate } from './voice-codec.ts';
