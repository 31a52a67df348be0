import { on } from 'node:events';
import { createRequire } from 'node:module';
import { FlvTagType, readVideoTag } from '../../libs/jt1078/dist/index.js';
import { FlvDemuxer } from '../../libs/jt1078/dist/testing/index.js';
import { formatInteger, percentile } from './statistics.mjs';

const { WebSocket } = createRequire(new URL('../../services/device-api/package.json', import.meta.url))('ws');
const timeoutMs = 20_000;
const nowMs = () => performance.timeOrigin + performance.now();

/** Returns a function that reads FLV bytes, and returns the time of the first picture once it is there. */
function createPictureDetector() {
  let pictureAtMs;
  const demuxer = new FlvDemuxer(({ type, body }) => {
    const video = type === FlvTagType.VIDEO ? readVideoTag(body) : null;
    if (video !== null && !video.isSequenceHeader) pictureAtMs ??= nowMs();
  });
  return (bytes) => {
    demuxer.push(bytes);
    return pictureAtMs;
  };
}

/** Yields the messages of a websocket. */
async function* readMessages(url, signal) {
  const socket = new WebSocket(url);
  try {
    for await (const [data] of on(socket, 'message', { signal })) yield data;
  } finally {
    socket.close();
  }
}

/** Yields the body of a response. */
async function* readBody(url, signal) {
  const response = await fetch(url, { signal });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  for await (const chunk of response.body) yield Buffer.from(chunk);
}

/** Opens FLV over HTTP or a websocket; resolves with the time of the first picture. */
async function readFirstPicture(url) {
  const signal = AbortSignal.timeout(timeoutMs);
  const detect = createPictureDetector();
  for await (const bytes of url.startsWith('ws') ? readMessages(url, signal) : readBody(url, signal)) {
    const pictureAtMs = detect(bytes);
    if (pictureAtMs !== undefined) return pictureAtMs;
  }
  throw new Error('the stream ended without a picture');
}

/**
 * Ways to start a stream; each returns its URL.
 *
 * @type {[string, (dashcam: any) => Promise<string>][]}
 */
const ways = [
  [
    'Platform API, `stream_url`',
    async ({ send, vehicleId }) =>
      (await send(`/vehicles/start-dashcam-stream/${vehicleId}`, { wake: false })).stream_url,
  ],
  [
    'Platform API, `ws_flv_url`',
    async ({ send, vehicleId }) =>
      (await send(`/vehicles/start-dashcam-stream/${vehicleId}`, { wake: false })).ws_flv_url,
  ],
  [
    'Platform API with `wake`, `stream_url`',
    async ({ send, vehicleId }) => (await send(`/vehicles/start-dashcam-stream/${vehicleId}`, {})).stream_url,
  ],
  [
    'video service, `stream_url`',
    async ({ product, phone }) => {
      const { video_url: videoUrl, demo } = product.runtime;
      const response = await fetch(`${videoUrl}/${phone}/start`, {
        method: 'POST',
        headers: { 'x-api-key': demo.api_key },
      });
      if (response.status !== 200) throw new Error(`start: ${response.status} ${await response.text()}`);
      /** @type {any} */
      const body = await response.json();
      return body.stream_url;
    },
  ],
  ['share link, whose URL starts the stream', async ({ guestUrl }) => guestUrl],
];

/** Measures one start, and stops the stream afterwards. */
async function measureStart(start, dashcam) {
  const { send, vehicleId, terminal } = dashcam;
  const before = terminal.cameras.records.length;
  const startedAtMs = nowMs();
  const url = await start(dashcam);
  const respondedMs = nowMs() - startedAtMs;
  const pictureMs = (await readFirstPicture(url)) - startedAtMs;
  const [record] = terminal.cameras.records.slice(before);
  const commandedMs = record.startedAt - startedAtMs;
  await send(`/vehicles/stop-dashcam-stream/${vehicleId}`, { channel_id: 1, force: true });
  return { respondedMs, commandedMs, pictureMs };
}

/** Returns rows of the table, and the longest median. */
export async function measureFirstPictures({ product, send, connect, starts }) {
  const dashcam = { product, send, ...(await connect()) };
  const link = { vehicle_id: dashcam.vehicleId, expires_in_hours: 1, permissions: ['live_video'] };
  const { slug } = await send('/share-links', link);
  const rows = [];
  let longestMedianMs = 0;
  for (const [name, start] of ways) {
    const { stream_url: guestUrl } = await send(`/public/share-links/${slug}`);
    const times = [];
    // The first start loads code.
    await measureStart(start, { ...dashcam, guestUrl });
    for (let count = 0; count < starts; count += 1) times.push(await measureStart(start, { ...dashcam, guestUrl }));
    const medianOf = (field) =>
      percentile(
        times.map((each) => each[field]),
        0.5,
      );
    const pictures = times.map(({ pictureMs }) => pictureMs);
    const [median, slow, maximum] = [0.5, 0.95, 1].map((share) => percentile(pictures, share));
    longestMedianMs = Math.max(longestMedianMs, median);
    const cells = [medianOf('commandedMs'), medianOf('respondedMs'), median, slow, maximum].map(formatInteger);
    rows.push(`| ${name} | ${cells.join(' | ')} |`);
    console.log(rows.at(-1));
  }
  return { rows, longestMedianMs };
}
