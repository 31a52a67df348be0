import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRecordings, getFfmpegPath, runFfmpeg, toCameraTime } from '../../libs/terminal-simulator/dist/index.js';
import { formatInteger, percentile } from './statistics.mjs';

const pollIntervalMs = 20;
const timeoutMs = 300_000;
const bitrateKbps = 500;
/**
 * Codecs and lengths in seconds.
 *
 * @type {[import('../../libs/terminal-simulator/dist/index.js').VideoCodec, number][]}
 */
const kinds = [
  ['h264', 10],
  ['h264', 60],
  ['h264', 600],
  ['h265', 60],
];

/** Waits until a download is as described. */
async function waitForDownload({ send, vehicleId }, videoId, isReached) {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const downloads = await send(`/user/downloaded-dashcam-videos?vehicle_id=${vehicleId}&limit=100`);
    const download = downloads.find(({ video_id: id }) => id === videoId);
    if (download !== undefined && isReached(download)) return download;
    if (performance.now() > deadlineMs) throw new Error(`the download is ${JSON.stringify(download)}`);
    await sleep(pollIntervalMs);
  }
}

/** Requests a recording from the camera and waits until it is uploaded. */
async function upload({ product, send, vehicleId, phone }, { startMs, endMs }) {
  const { video_url: videoUrl, demo } = product.runtime;
  const [startTime, endTime] = [startMs, endMs].map((ms) => new Date(ms).toISOString());
  const response = await fetch(`${videoUrl}/${phone}/upload`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': demo.api_key },
    body: JSON.stringify({ channel: 1, start_time: startTime, end_time: endTime }),
  });
  /** @type {any} */
  const body = await response.json();
  if (response.status !== 200) throw new Error(`upload: ${response.status} ${JSON.stringify(body)}`);
  await waitForDownload({ send, vehicleId }, body.video_id, ({ status }) => status === 'completed');
  return body.video_id;
}

/** Returns the milliseconds in which ffmpeg alone copies the camera's file to an MP4. */
async function measureFloor(folder, content) {
  const [input, output] = [join(folder, 'input.mp4'), join(folder, 'output.mp4')];
  writeFileSync(input, content);
  const startedAtMs = performance.now();
  await runFfmpeg(getFfmpegPath(), [
    '-threads',
    '1',
    '-i',
    input,
    '-c',
    'copy',
    '-movflags',
    '+faststart',
    '-y',
    output,
  ]);
  return performance.now() - startedAtMs;
}

/** Measures one clip. */
async function measureClip(dashcam, clip, folder) {
  const videoId = await upload(dashcam, clip);
  const startedAtMs = performance.now();
  await dashcam.send(`/dashcam-downloads/${videoId}/mp4`, {});
  const { mp4 } = await waitForDownload(dashcam, videoId, ({ mp4: each }) =>
    ['completed', 'failed'].includes(each.status),
  );
  if (mp4.status !== 'completed') throw new Error(`the conversion failed: ${mp4.error}`);
  const conversionMs = performance.now() - startedAtMs;
  const range = { startTime: toCameraTime(clip.startMs), endTime: toCameraTime(clip.endMs) };
  const [file] = await dashcam.terminal.clipFiles({ channel: 1, ...range });
  return { conversionMs, floorMs: await measureFloor(folder, file.content), sizeBytes: mp4.size_bytes };
}

/** Returns rows of the table. */
export async function measureConversions({ product, send, connect, clipCount }) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
  const rows = [];
  try {
    for (const [codec, seconds] of kinds) {
      const untilMs = Math.floor(Date.now() / 1_000) * 1_000 - 60_000;
      // The first clip loads code.
      const count = clipCount + 1;
      const recordings = createRecordings({ channels: [1], count, seconds, until: new Date(untilMs), bitrateKbps });
      const dashcam = { product, send, ...(await connect({ recordings }, codec)) };
      const results = [];
      for (let index = 0; index < count; index += 1) {
        const startMs = untilMs - (count - index) * seconds * 1_000;
        results.push(await measureClip(dashcam, { startMs, endMs: startMs + seconds * 1_000 }, folder));
      }
      const medianOf = (field) =>
        percentile(
          results.slice(1).map((each) => each[field]),
          0.5,
        );
      const [conversionMs, floorMs] = [medianOf('conversionMs'), medianOf('floorMs')];
      const name = `${codec === 'h264' ? 'H.264' : 'H.265'}, ${seconds} s`;
      const speed = formatInteger((seconds * 1_000) / conversionMs);
      const size = (medianOf('sizeBytes') / 1e6).toFixed(1);
      const ratio = (conversionMs / floorMs).toFixed(1);
      rows.push(
        `| ${name} | ${size} | ${formatInteger(conversionMs)} | ${speed} | ${formatInteger(floorMs)} | ${ratio} |`,
      );
      console.log(rows.at(-1));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return rows;
}
