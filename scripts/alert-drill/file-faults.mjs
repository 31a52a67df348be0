// Faults of files and streams: a full disk, used passive ports, files that are not published, too many transcoders.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createCameraClips,
  createRecordings,
  getDefaultCacheDir,
  SimulatedTerminal,
  sendPicture,
} from '../../libs/terminal-simulator/dist/index.js';
import { refuseMessages } from './refuse-messages.mjs';

/** Passive ports of a start, at the distance of `planPorts` from the FTP port. */
const [ftpPort, firstPassivePort, passivePorts] = [2_121, 30_000, 100];
const pictures = 14;
const recordingSeconds = 5;

/** Starts a vehicle with a camera and a recording of five seconds. */
async function startCamera({ runtime }, post, phone) {
  const until = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 60_000);
  const terminal = new SimulatedTerminal({
    ...runtime.jt808,
    phone,
    channels: 1,
    reportIntervalMs: 0,
    clips: createCameraClips(phone, { cacheDir: getDefaultCacheDir() }, { main: { stamp: '' } }),
    recordings: createRecordings({ channels: [1], count: 1, seconds: recordingSeconds, until, bitrateKbps: 500 }),
    uploadRetryMs: 1_000,
    uploadRetries: 1_000,
  });
  await post('/vehicles', { vehicle_no: phone, imei: phone });
  terminal.start();
  await terminal.waitUntilOnline(60_000);
  return { terminal, until };
}

/** Sends a request of the Device API. */
const get = ({ runtime }, path) =>
  fetch(`${runtime.base_url}/api/v1${path}`, { headers: { 'x-api-key': runtime.demo.api_key } });

/** Requests the recording of a camera; returns the status and the id of the upload. */
async function requestUpload(product, { terminal, until }) {
  const start = new Date(until.getTime() - recordingSeconds * 1_000).toISOString();
  const query = `imei=${terminal.phone}&channel=1&start_time=${start}&end_time=${until.toISOString()}`;
  const response = await get(product, `/videos/upload?${query}`);
  const { video_id: videoId } = /** @type {{ video_id: string }} */ (await response.json());
  return { status: response.status, videoId };
}

/** Waits until an upload is complete. */
async function waitForUpload(product, videoId) {
  for (;;) {
    const response = await get(product, `/videos?video_id=${videoId}`);
    const { status } = /** @type {{ status: string }} */ (await response.json());
    if (status === 'completed') return;
    if (status === 'failed') throw new Error('The upload failed.');
    await sleep(1_000);
  }
}

/** Listens on all passive ports of upload-ftp. Returns a function that releases them. */
async function takePassivePorts({ runtime }) {
  const first = runtime.ftp.port - ftpPort + firstPassivePort;
  const servers = Array.from({ length: passivePorts }, (_unused, index) =>
    createServer((socket) => socket.destroy()).listen(first + index, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  return () => Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
}

/** A disk that is nearly full: uploads are refused until it is enlarged. */
const fillDisk = (product, logIn, disk) => ({
  begin: async () => {
    disk.fill();
    const camera = await startCamera(product, await logIn(), '139000088881');
    // upload-ftp checks its disk every five seconds.
    while ((await get(product, '/health')).status !== 503) await sleep(1_000);
    const { status } = await requestUpload(product, camera);
    if (status !== 503) throw new Error(`The upload was not refused: ${status}`);
    await camera.terminal.stop();
  },
  end: async () => disk.enlarge(),
});

/** No passive port is free: the camera tries again, and completes its upload afterwards. */
function usePassivePorts(product, logIn) {
  let camera;
  let videoId = '';
  let release = async () => [];
  return {
    begin: async () => {
      camera = await startCamera(product, await logIn(), '139000088882');
      release = await takePassivePorts(product);
      const upload = await requestUpload(product, camera);
      if (upload.status !== 200) throw new Error(`The upload was not granted: ${upload.status}`);
      videoId = upload.videoId;
    },
    end: async () => {
      await release();
      await waitForUpload(product, videoId);
      await camera.terminal.stop();
    },
  };
}

/** Pictures of a terminal while the stream MEDIA stores nothing. */
function keepFilesUnpublished(product, logIn) {
  const { begin, end } = refuseMessages(product.runtime.backends.nats_url, 'MEDIA');
  return {
    begin: async () => {
      await begin();
      const { terminal } = await startCamera(product, await logIn(), '139000088883');
      for (let count = 0; count < pictures; count += 1) await sendPicture(terminal, 1, 3);
      await sleep(5_000);
      await terminal.stop();
    },
    end,
  };
}

/** One stream whose sound needs ffmpeg, where MEDIA_MAX_TRANSCODERS is 1. */
function useTranscoders(product, logIn) {
  const viewer = new AbortController();
  let camera;
  return {
    begin: async () => {
      camera = await startCamera(product, await logIn(), '139000088884');
      const query = `imei=${camera.terminal.phone}&channel=1`;
      const started = await get(product, `/realtime/start-stream?${query}`);
      if (started.status !== 200) throw new Error(`The stream did not start: ${started.status}`);
      const headers = { 'x-api-key': product.runtime.demo.api_key };
      const url = `${product.runtime.base_url}/api/v1/realtime/stream.flv?${query}`;
      const response = await fetch(url, { headers, signal: viewer.signal });
      void drain(response.body);
    },
    end: async () => {
      viewer.abort();
      await camera.terminal.stop();
    },
  };
}

/** Reads a body until it ends. */
async function drain(body) {
  try {
    for await (const _part of body);
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
  }
}

/** Returns the faults of files by alert. */
export const createFileFaults = (product, { logIn }, disk) => ({
  ...(disk === null ? {} : { ClipDiskFull: fillDisk(product, logIn, disk) }),
  PassivePortsExhausted: usePassivePorts(product, logIn),
  FilesUnpublished: keepFilesUnpublished(product, logIn),
  TranscodersFull: useTranscoders(product, logIn),
});
