import { type Bus, decodeVoice, serveUseCase } from '@fleet/bus';
import { voiceSampleRate } from '@fleet/jt1078';
import { AppError } from '@fleet/service-kit';
import { type Redis, readVoice, saveVoice } from '@fleet/storage';
import { decodeAudioFile } from '../transcode/decode-audio-file.ts';

/** Longest voice of a broadcast. */
const maxSeconds = 60;

/** Serves `jt1078-media.decode-voice` in a queue group of all pods. */
export const serveVoiceDecoding = (
  bus: Bus,
  deps: { readonly redis: Redis; readonly ffmpegPath: string; readonly onError: (error: unknown) => void },
): { stop(): Promise<void> } =>
  serveUseCase(bus, decodeVoice, { queue: 'jt1078-media', onError: deps.onError }, async ({ voiceId }) => {
    const file = await readVoice(deps.redis, 'file', voiceId);
    if (file === null) throw new AppError('not_found', 'The audio file has expired.');
    const pcm = await decode(deps.ffmpegPath, file);
    const seconds = pcm.length / (2 * voiceSampleRate);
    if (seconds === 0) throw new AppError('validation_failed', 'The audio file contains no sound.');
    if (seconds > maxSeconds)
      throw new AppError('validation_failed', `The audio file is longer than ${maxSeconds} seconds.`);
    await saveVoice(deps.redis, 'pcm', voiceId, pcm);
    return { seconds };
  });

async function decode(ffmpegPath: string, file: Buffer): Promise<Buffer> {
  try {
    // One second more shows that a file is too long.
    return await decodeAudioFile(ffmpegPath, file, maxSeconds + 1);
  } catch (cause) {
    throw new AppError('validation_failed', 'The audio file cannot be read. Send WAV, MP3, OGG, FLAC, AAC or M4A.', {
      cause,
    });
  }
}
