import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { voiceSampleRate } from '@fleet/jt1078';
import ffmpeg from 'fluent-ffmpeg';

/** Formats of audio files. Playlists are not among them, as they name other files. */
const formats = 'wav,mp3,ogg,flac,aac,mov,matroska,amr';
const timeoutMs = 20_000;

/**
 * Decodes an audio file to 16-bit little-endian PCM of 8 kHz mono, at most `maxSeconds` of it. Throws if ffmpeg cannot
 * read the file.
 */
export async function decodeAudioFile(ffmpegPath: string, file: Buffer, maxSeconds: number): Promise<Buffer> {
  // Some formats have their index at the end, so ffmpeg cannot read them from a pipe.
  const directory = await mkdtemp(join(tmpdir(), 'voice-'));
  try {
    const path = join(directory, 'file');
    await writeFile(path, file);
    return await runFfmpeg(ffmpegPath, path, maxSeconds);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runFfmpeg(ffmpegPath: string, path: string, maxSeconds: number): Promise<Buffer> {
  const output = new PassThrough();
  const chunks: Buffer[] = [];
  output.on('data', (chunk: Buffer) => chunks.push(chunk));
  const command = ffmpeg(path)
    .setFfmpegPath(ffmpegPath)
    .inputOptions(['-protocol_whitelist file', `-format_whitelist ${formats}`])
    .outputOptions(['-threads 1', '-vn', `-t ${maxSeconds}`, '-ac 1', `-ar ${voiceSampleRate}`])
    .format('s16le');
  const timer = setTimeout(() => command.kill('SIGKILL'), timeoutMs);
  try {
    // The output also ends when ffmpeg fails, so both are awaited.
    await Promise.all([
      once(output, 'end'),
      new Promise((resolve, reject) => {
        command.on('error', reject).on('end', resolve).pipe(output, { end: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks);
}
