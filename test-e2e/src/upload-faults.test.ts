import type { UploadFault } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { type Backend, killProcess, stopBackend, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type ApiResponse, type DedicatedHarness, startHarness } from './testing/harness.ts';
import { findDefects, UploadCamera, uploadAction } from './testing/upload-camera.ts';

// Killed services take a while to restart on a busy machine.
jest.setTimeout(240_000);

let harness: DedicatedHarness;

beforeAll(async () => {
  // The reservation of a killed device-api expires ten seconds after this timeout.
  harness = await startHarness({ DEVICE_REPLY_TIMEOUT_MS: '15000' });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

/** About eight seconds for a recording. */
const slowly = { uploadBytesPerSecond: 55_000, reconnect: { minMs: 200, maxMs: 1_000 } };

const getVideoId = ({ body }: ApiResponse): string => (body as { video_id: string }).video_id;

describe('a connection that breaks three times during an upload', () => {
  const breaks: UploadFault[] = [
    { how: 'reset', afterBytes: 100_000 },
    { how: 'finish', afterBytes: 150_000 },
    { how: 'controlLost', afterBytes: 60_000 },
  ];

  it.each(['append', 'restart', 'fromZero'] as const)(
    'loses no byte when the camera resumes by %s',
    async (uploadResume) => {
      const camera = await UploadCamera.start(harness, { uploadResume, uploadFaults: breaks });
      const clip = camera.getClip(0);
      const videoId = await camera.upload(clip);
      await camera.waitForStatus(videoId, 'completed');
      expect(camera.terminal.uploads.records[0]).toMatchObject({ attempts: 4 });
      expect(await findDefects(camera, clip, videoId)).toEqual([]);
    },
  );

  it.each(['reset', 'finish', 'controlLost', 'silent'] as const)(
    '%s at the first, a middle and the last bytes',
    async (how) => {
      const camera = await UploadCamera.start(harness, {
        uploadFaults: [
          { how, afterBytes: 1 },
          { how, afterBytes: 200_000 },
          { how, afterBytes: 220_000 },
        ],
      });
      const clip = camera.getClip(0);
      const videoId = await camera.upload(clip);
      await camera.waitForStatus(videoId, 'completed');
      expect(await findDefects(camera, clip, videoId)).toEqual([]);
    },
  );

  it('loses no byte when the connection to the platform breaks at the same time', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForBytes(videoId);
    camera.terminal.dropConnection();
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });
});

describe('a process that is killed in the middle of a file', () => {
  it('upload-ftp: the camera continues at its offset in a new session', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    const { filesize } = await camera.waitForBytes(videoId);
    const former = killProcess(harness, 'upload-ftp');
    await waitForRestart(harness, 'upload-ftp', former);
    await waitUntilHealthy(harness);
    await camera.waitForBytes(videoId, filesize + 1);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
    expect(await camera.deleteUpload(videoId)).toMatchObject({ status: 200 });
    expect(await camera.readStoredFiles(videoId)).toEqual([]);
  });

  it('upload-ftp, twice, with a camera that starts again from zero', async () => {
    const camera = await UploadCamera.start(harness, { ...slowly, uploadResume: 'fromZero' });
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    for (let round = 0; round < 2; round += 1) {
      const attempts = camera.terminal.uploads.records[0]?.attempts ?? 0;
      const sent = camera.terminal.uploads.records[0]?.sentBytes ?? 0;
      await waitFor(() => (camera.terminal.uploads.records[0]?.sentBytes ?? 0) > sent, 'bytes');
      const former = killProcess(harness, 'upload-ftp');
      await waitForRestart(harness, 'upload-ftp', former);
      await waitUntilHealthy(harness);
      await waitFor(() => (camera.terminal.uploads.records[0]?.attempts ?? 0) > attempts, 'another attempt');
    }
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it('upload-ftp during a paused upload: it is resumed and completed', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForBytes(videoId);
    expect(await camera.control(videoId, uploadAction.pause)).toMatchObject({
      status: 200,
      body: { status: 'paused' },
    });
    const former = killProcess(harness, 'upload-ftp');
    await waitForRestart(harness, 'upload-ftp', former);
    await waitUntilHealthy(harness);
    expect(await camera.getUpload(videoId)).toMatchObject({ status: 'paused' });
    const resumed = await camera.control(videoId, uploadAction.resume);
    expect(resumed).toMatchObject({ status: 200, body: { status: 'uploading' } });
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it('upload-ftp, before a clip is requested or deleted: 503 and 502, and nothing has changed', async () => {
    const camera = await UploadCamera.start(harness);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    const former = killProcess(harness, 'upload-ftp');
    const [requested, deleted, downloaded] = await Promise.all([
      camera.requestClip(camera.getClip(1)),
      camera.deleteUpload(videoId),
      camera.download(videoId),
    ]);
    expect(requested).toMatchObject({ status: 503, body: { status: 503, error: expect.any(String) } });
    expect(deleted).toMatchObject({ status: 502, body: { status: 502, error: expect.any(String) } });
    expect(downloaded.status).toBe(502);
    expect(camera.terminal.receivedFrames(0x9206)).toHaveLength(1);
    await waitForRestart(harness, 'upload-ftp', former);
    await waitUntilHealthy(harness);
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
    expect(await camera.listUploads()).toMatchObject({ body: { total: 1 } });
    expect(await camera.deleteUpload(videoId)).toMatchObject({ status: 200 });
  });

  it('upload-ftp as the camera reports success: the report is not lost', async () => {
    const camera = await UploadCamera.start(harness);
    const clip = camera.getClip(0);
    const isReported = new Promise<number>((resolve) => {
      const timer = setInterval(() => {
        if (camera.terminal.uploads.records[0]?.notice !== 0) return;
        clearInterval(timer);
        resolve(killProcess(harness, 'upload-ftp'));
      }, 1);
    });
    const videoId = await camera.upload(clip);
    await waitForRestart(harness, 'upload-ftp', await isReported);
    await camera.waitForStatus(videoId, 'completed', 120_000);
    await waitUntilHealthy(harness);
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it("device-api between the camera's reply and the record: the clip is stored nevertheless", async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const clip = camera.getClip(0);
    let former = 0;
    // Killed before the camera sends its reply, which arrives when device-api is down. After it, a busy machine might
    // store the record first.
    camera.terminal.on('message', ({ messageId }) => {
      if (messageId === 0x9206) former = killProcess(harness, 'device-api');
    });
    expect(await camera.requestClip(clip)).toMatchObject({ status: 502 });
    await waitForRestart(harness, 'device-api', former);
    await waitUntilHealthy(harness);
    camera.terminal.removeAllListeners('message');
    const listed = await waitFor(async () => {
      const { body } = await camera.listUploads();
      return (body as { videos: { video_id: string }[] }).videos[0];
    }, 'the upload to be listed');
    await camera.waitForStatus(listed.video_id, 'completed');
    expect(await findDefects(camera, clip, listed.video_id)).toEqual([]);
    expect(await camera.requestClip(clip)).toMatchObject({ status: 200, body: { result: 'completed' } });
    expect(camera.terminal.receivedFrames(0x9206)).toHaveLength(1);
  });

  it('device-api before the camera replies: the next request gets the clip', async () => {
    const camera = await UploadCamera.start(harness);
    const clip = camera.getClip(0);
    camera.terminal.setBehaviour({ kind: 'silent' }, 0x9206);
    const requested = camera.requestClip(clip);
    await camera.terminal.waitForCommand(0x9206);
    const former = killProcess(harness, 'device-api');
    expect(await requested).toMatchObject({ status: 502 });
    await waitForRestart(harness, 'device-api', former);
    await waitUntilHealthy(harness);
    expect(await camera.listUploads()).toMatchObject({ body: { total: 0 } });
    // The reservation of the killed process has to expire first.
    camera.terminal.resetBehaviour(0x9206);
    const response = await waitFor(
      async () => {
        const given = await camera.requestClip(clip);
        return given.status === 200 ? given : undefined;
      },
      'a response',
      200_000,
    );
    await camera.waitForStatus(getVideoId(response), 'completed');
    expect(await findDefects(camera, clip, getVideoId(response))).toEqual([]);
  });

  it('jt808-gateway: the result arrives with the next session of the terminal', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForBytes(videoId);
    const former = killProcess(harness, 'jt808-gateway');
    await waitForRestart(harness, 'jt808-gateway', former);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });
});

describe('a backend that is unavailable in the middle of a file', () => {
  it.each<Backend>(['mongodb', 'nats', 'redis'])('%s, killed and restarted immediately', async (backend) => {
    const camera = await UploadCamera.start(harness, slowly);
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForBytes(videoId);
    const former = killProcess(harness, backend);
    await waitForRestart(harness, backend, former);
    await waitUntilHealthy(harness);
    await camera.waitForStatus(videoId, 'completed', 120_000);
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it.each<Backend>(['mongodb', 'nats', 'redis'])(
    '%s, and still unavailable when the camera has finished',
    async (backend) => {
      const camera = await UploadCamera.start(harness, slowly);
      const clip = camera.getClip(0);
      const videoId = await camera.upload(clip);
      await camera.waitForBytes(videoId);
      const outage = await stopBackend(harness, backend);
      await waitFor(() => camera.terminal.uploads.records[0]?.notice === 0, 'the camera to finish', 60_000);
      await outage.restore();
      await camera.waitForStatus(videoId, 'completed', 120_000);
      expect(await findDefects(camera, clip, videoId)).toEqual([]);
    },
  );
});

describe('two replicas of device-api', () => {
  let replica: DeviceApiReplica;

  beforeAll(async () => {
    replica = await DeviceApiReplica.start(harness);
  }, 90_000);

  afterAll(() => replica.stop(), 30_000);

  it('create one upload for 50 parallel requests for a clip', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    camera.terminal.setBehaviour({ kind: 'slow', delayMs: 1_000 }, 0x9206);
    const clip = camera.getClip(0);
    const path = `/videos/upload?${camera.buildQuery(clip)}`;
    const requests = Array.from({ length: 50 }, (_unused, index) => (index % 2 === 0 ? harness : replica).get(path));
    const responses = await Promise.all(requests);
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(responses.map(getVideoId)).size).toBe(1);
    expect(responses[0]).toMatchObject({ body: { response_id: '0x9206', result: 'success' } });
    expect(camera.terminal.receivedFrames(0x9206)).toHaveLength(1);
    expect(await camera.listUploads()).toMatchObject({ body: { total: 1 } });
    const [first] = responses;
    const videoId = first === undefined ? '' : getVideoId(first);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it('accept one of 20 clips that are requested concurrently, and return 409 for the others', async () => {
    const camera = await UploadCamera.start(harness, slowly);
    camera.terminal.setBehaviour({ kind: 'slow', delayMs: 500 }, 0x9206);
    const clips = Array.from({ length: 20 }, (_unused, index) =>
      camera.getClip(index % 10, { channel: index < 10 ? 1 : 2 }),
    );
    const responses = await Promise.all(
      clips.map((clip, index) =>
        (index % 2 === 0 ? harness : replica).get(`/videos/upload?${camera.buildQuery(clip)}`),
      ),
    );
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(19);
    expect(camera.terminal.receivedFrames(0x9206)).toHaveLength(1);
    expect(await camera.listUploads()).toMatchObject({ body: { total: 1 } });
  });

  it('return a refusal to all concurrent callers', async () => {
    const camera = await UploadCamera.start(harness);
    camera.terminal.setBehaviour({ kind: 'slow', delayMs: 3_000 }, 0x9206);
    const own = camera.terminal.recordings.splice(0);
    const path = `/videos/upload?${camera.buildQuery(camera.getClip(0))}`;
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_unused, index) => (index % 2 === 0 ? harness : replica).get(path)),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([502]));
    expect(camera.terminal.receivedFrames(0x9206)).toHaveLength(1);
    expect(await camera.listUploads()).toMatchObject({ body: { total: 0 } });
    camera.terminal.recordings.push(...own);
  });

  it('let either a pause or a cancel win, each sent to its own replica', async () => {
    const camera = await UploadCamera.start(harness, { ...slowly, uploadBytesPerSecond: 20_000 });
    const videoId = await camera.upload(camera.getClip(0));
    await camera.waitForBytes(videoId);
    camera.terminal.setBehaviour({ kind: 'slow', delayMs: 3_000 }, 0x9207);
    const responses = await Promise.all([
      harness.get(`/videos/control?video_id=${videoId}&action=${uploadAction.pause}`),
      replica.get(`/videos/control?video_id=${videoId}&action=${uploadAction.cancel}`),
    ]);
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(camera.terminal.receivedFrames(0x9207)).toHaveLength(1);
  });
});
