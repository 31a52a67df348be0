import type { UploadBreak } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { type Backend, healthy, kill, restarted, takeAway } from './testing/faults.ts';
import { until } from './testing/until.ts';
import { defects, UploadCamera, uploadAction } from './testing/upload-camera.ts';
import { type Answer, type OwnWorld, startWorld } from './testing/world.ts';

// Services that are killed take their time to come back on a busy machine.
jest.setTimeout(240_000);

let world: OwnWorld;

beforeAll(async () => {
  // A reservation whose device-api died ends ten seconds behind this.
  world = await startWorld({ DEVICE_REPLY_TIMEOUT_MS: '15000' });
}, 180_000);

afterAll(() => world.stop(), 60_000);

/** Some eight seconds for a recording. */
const slowly = { uploadBytesPerSecond: 55_000, reconnect: { minMs: 200, maxMs: 1_000 } };

const idOf = ({ body }: Answer): string => (body as { video_id: string }).video_id;

describe('a connection that breaks three times on the way', () => {
  const breaks: UploadBreak[] = [
    { how: 'reset', afterBytes: 100_000 },
    { how: 'finish', afterBytes: 150_000 },
    { how: 'controlLost', afterBytes: 60_000 },
  ];

  it.each(['append', 'restart', 'fromZero'] as const)(
    'costs no byte when the camera resumes by %s',
    async (uploadResume) => {
      const camera = await UploadCamera.start(world, { uploadResume, uploadBreaks: breaks });
      const clip = camera.clip(0);
      const videoId = await camera.upload(clip);
      await camera.becomes(videoId, 'completed');
      expect(camera.terminal.uploads.records[0]).toMatchObject({ attempts: 4 });
      expect(await defects(camera, clip, videoId)).toEqual([]);
    },
  );

  it.each(['reset', 'finish', 'controlLost', 'silent'] as const)(
    '%s at the first, a middle and the last bytes',
    async (how) => {
      const camera = await UploadCamera.start(world, {
        uploadBreaks: [
          { how, afterBytes: 1 },
          { how, afterBytes: 200_000 },
          { how, afterBytes: 220_000 },
        ],
      });
      const clip = camera.clip(0);
      const videoId = await camera.upload(clip);
      await camera.becomes(videoId, 'completed');
      expect(await defects(camera, clip, videoId)).toEqual([]);
    },
  );

  it('nor does one to the platform meanwhile', async () => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    await camera.received(videoId);
    camera.terminal.dropConnection();
    await camera.becomes(videoId, 'completed');
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });
});

describe('a process that is killed in the middle of a file', () => {
  it('upload-ftp: the camera goes on where it was, in a session of its own choosing', async () => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    const { filesize } = await camera.received(videoId);
    const former = kill(world, 'upload-ftp');
    await restarted(world, 'upload-ftp', former);
    await healthy(world);
    await camera.received(videoId, filesize + 1);
    await camera.becomes(videoId, 'completed');
    expect(await defects(camera, clip, videoId)).toEqual([]);
    expect(await camera.remove(videoId)).toMatchObject({ status: 200 });
    expect(await camera.stored(videoId)).toEqual([]);
  });

  it('upload-ftp, twice, with a camera that begins from zero', async () => {
    const camera = await UploadCamera.start(world, { ...slowly, uploadResume: 'fromZero' });
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    for (let round = 0; round < 2; round += 1) {
      const attempts = camera.terminal.uploads.records[0]?.attempts ?? 0;
      const sent = camera.terminal.uploads.records[0]?.sentBytes ?? 0;
      await until('bytes', () => (camera.terminal.uploads.records[0]?.sentBytes ?? 0) > sent);
      const former = kill(world, 'upload-ftp');
      await restarted(world, 'upload-ftp', former);
      await healthy(world);
      await until('another attempt', () => (camera.terminal.uploads.records[0]?.attempts ?? 0) > attempts);
    }
    await camera.becomes(videoId, 'completed');
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });

  it('upload-ftp while a paused upload waits: it is resumed and completed', async () => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    await camera.received(videoId);
    expect(await camera.control(videoId, uploadAction.pause)).toMatchObject({
      status: 200,
      body: { status: 'paused' },
    });
    const former = kill(world, 'upload-ftp');
    await restarted(world, 'upload-ftp', former);
    await healthy(world);
    expect(await camera.show(videoId)).toMatchObject({ status: 'paused' });
    const resumed = await camera.control(videoId, uploadAction.resume);
    expect(resumed).toMatchObject({ status: 200, body: { status: 'uploading' } });
    await camera.becomes(videoId, 'completed');
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });

  it('upload-ftp, before a clip is asked for or deleted: 503 and 502, and nothing has changed', async () => {
    const camera = await UploadCamera.start(world);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    await camera.becomes(videoId, 'completed');
    const former = kill(world, 'upload-ftp');
    const [asked, deleted, downloaded] = await Promise.all([
      camera.request(camera.clip(1)),
      camera.remove(videoId),
      camera.download(videoId),
    ]);
    expect(asked).toMatchObject({ status: 503, body: { status: 503, error: expect.any(String) } });
    expect(deleted).toMatchObject({ status: 502, body: { status: 502, error: expect.any(String) } });
    expect(downloaded.status).toBe(502);
    expect(camera.terminal.received(0x9206)).toHaveLength(1);
    await restarted(world, 'upload-ftp', former);
    await healthy(world);
    expect(await defects(camera, clip, videoId)).toEqual([]);
    expect(await camera.list()).toMatchObject({ body: { total: 1 } });
    expect(await camera.remove(videoId)).toMatchObject({ status: 200 });
  });

  it('upload-ftp just as the camera reports success: the report is not lost', async () => {
    const camera = await UploadCamera.start(world);
    const clip = camera.clip(0);
    const isReported = new Promise<number>((resolve) => {
      const timer = setInterval(() => {
        if (camera.terminal.uploads.records[0]?.notice !== 0) return;
        clearInterval(timer);
        resolve(kill(world, 'upload-ftp'));
      }, 1);
    });
    const videoId = await camera.upload(clip);
    await restarted(world, 'upload-ftp', await isReported);
    await camera.becomes(videoId, 'completed', 120_000);
    await healthy(world);
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });

  it('device-api between the answer of the camera and the record: the clip is there all the same', async () => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    let former = 0;
    // Before the camera writes its answer, which comes when device-api is gone: behind it, a busy machine may let the record be first.
    camera.terminal.on('message', ({ messageId }) => {
      if (messageId === 0x9206) former = kill(world, 'device-api');
    });
    expect(await camera.request(clip)).toMatchObject({ status: 502 });
    await restarted(world, 'device-api', former);
    await healthy(world);
    camera.terminal.removeAllListeners('message');
    const listed = await until('the upload to be listed', async () => {
      const { body } = await camera.list();
      return (body as { videos: { video_id: string }[] }).videos[0];
    });
    await camera.becomes(listed.video_id, 'completed');
    expect(await defects(camera, clip, listed.video_id)).toEqual([]);
    expect(await camera.request(clip)).toMatchObject({ status: 200, body: { result: 'completed' } });
    expect(camera.terminal.received(0x9206)).toHaveLength(1);
  });

  it('device-api while the camera thinks: whoever asks afterwards gets the clip', async () => {
    const camera = await UploadCamera.start(world);
    const clip = camera.clip(0);
    camera.terminal.behave({ kind: 'silent' }, 0x9206);
    const asked = camera.request(clip);
    await camera.terminal.waitForCommand(0x9206);
    const former = kill(world, 'device-api');
    expect(await asked).toMatchObject({ status: 502 });
    await restarted(world, 'device-api', former);
    await healthy(world);
    expect(await camera.list()).toMatchObject({ body: { total: 0 } });
    // The reservation of the dead process has to expire first.
    camera.terminal.behaveWell(0x9206);
    const answer = await until(
      'an answer',
      async () => {
        const given = await camera.request(clip);
        return given.status === 200 ? given : undefined;
      },
      200_000,
    );
    await camera.becomes(idOf(answer), 'completed');
    expect(await defects(camera, clip, idOf(answer))).toEqual([]);
  });

  it('jt808-gateway: the result comes with the next session of the terminal', async () => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    await camera.received(videoId);
    const former = kill(world, 'jt808-gateway');
    await restarted(world, 'jt808-gateway', former);
    await camera.becomes(videoId, 'completed');
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });
});

describe('a backend that is away in the middle of a file', () => {
  it.each<Backend>(['mongodb', 'nats', 'redis'])('%s, killed and back at once', async (backend) => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    await camera.received(videoId);
    const former = kill(world, backend);
    await restarted(world, backend, former);
    await healthy(world);
    await camera.becomes(videoId, 'completed', 120_000);
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });

  it.each<Backend>(['mongodb', 'nats', 'redis'])('%s, and still so when the camera has ended', async (backend) => {
    const camera = await UploadCamera.start(world, slowly);
    const clip = camera.clip(0);
    const videoId = await camera.upload(clip);
    await camera.received(videoId);
    const away = await takeAway(world, backend);
    await until('the end at the camera', () => camera.terminal.uploads.records[0]?.notice === 0, 60_000);
    await away.giveBack();
    await camera.becomes(videoId, 'completed', 120_000);
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });
});

describe('two replicas of device-api', () => {
  let replica: DeviceApiReplica;

  beforeAll(async () => {
    replica = await DeviceApiReplica.start(world);
  }, 90_000);

  afterAll(() => replica.stop(), 30_000);

  it('make one upload of 50 parallel requests for a clip', async () => {
    const camera = await UploadCamera.start(world, slowly);
    camera.terminal.behave({ kind: 'slow', delayMs: 1_000 }, 0x9206);
    const clip = camera.clip(0);
    const path = `/videos/upload?${camera.query(clip)}`;
    const requests = Array.from({ length: 50 }, (_unused, index) => (index % 2 === 0 ? world : replica).get(path));
    const answers = await Promise.all(requests);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(answers[0]).toMatchObject({ body: { response_id: '0x9206', result: 'success' } });
    expect(camera.terminal.received(0x9206)).toHaveLength(1);
    expect(await camera.list()).toMatchObject({ body: { total: 1 } });
    const [first] = answers;
    const videoId = first === undefined ? '' : idOf(first);
    await camera.becomes(videoId, 'completed');
    expect(await defects(camera, clip, videoId)).toEqual([]);
  });

  it('give the camera to one of 20 clips that are asked for at once, and 409 to the others', async () => {
    const camera = await UploadCamera.start(world, slowly);
    camera.terminal.behave({ kind: 'slow', delayMs: 500 }, 0x9206);
    const clips = Array.from({ length: 20 }, (_unused, index) =>
      camera.clip(index % 10, { channel: index < 10 ? 1 : 2 }),
    );
    const answers = await Promise.all(
      clips.map((clip, index) => (index % 2 === 0 ? world : replica).get(`/videos/upload?${camera.query(clip)}`)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
    expect(camera.terminal.received(0x9206)).toHaveLength(1);
    expect(await camera.list()).toMatchObject({ body: { total: 1 } });
  });

  it('share a refusal among all who asked', async () => {
    const camera = await UploadCamera.start(world);
    camera.terminal.behave({ kind: 'slow', delayMs: 3_000 }, 0x9206);
    const own = camera.terminal.recordings.splice(0);
    const path = `/videos/upload?${camera.query(camera.clip(0))}`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_unused, index) => (index % 2 === 0 ? world : replica).get(path)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]));
    expect(camera.terminal.received(0x9206)).toHaveLength(1);
    expect(await camera.list()).toMatchObject({ body: { total: 0 } });
    camera.terminal.recordings.push(...own);
  });

  it('let one of a pause and a cancel win, each through its own replica', async () => {
    const camera = await UploadCamera.start(world, { ...slowly, uploadBytesPerSecond: 20_000 });
    const videoId = await camera.upload(camera.clip(0));
    await camera.received(videoId);
    camera.terminal.behave({ kind: 'slow', delayMs: 3_000 }, 0x9207);
    const answers = await Promise.all([
      world.get(`/videos/control?video_id=${videoId}&action=${uploadAction.pause}`),
      replica.get(`/videos/control?video_id=${videoId}&action=${uploadAction.cancel}`),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(camera.terminal.received(0x9207)).toHaveLength(1);
  });
});
