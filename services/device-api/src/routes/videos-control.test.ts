import { uploadSubject } from '@fleet/bus';
import type { UploadStatus } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  controlClip,
  type FakeCamera,
  rejectWith,
  requestClip,
  UploadHarness,
  uploadPath,
} from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(90_000);

let uploads: UploadHarness;
let api: Awaited<ReturnType<UploadHarness['startService']>>;
let replica: typeof api;
/** A short time-out of cameras. */
let quick: typeof api;
beforeAll(async () => {
  uploads = await UploadHarness.open();
  [api, replica, quick] = await Promise.all([
    uploads.startService(),
    uploads.startService(),
    uploads.startService({ UPLOAD_CONTROL_TIMEOUT_MS: '700' }),
  ]);
});
afterAll(() => uploads.close());

const [pause, resume, cancel] = [0, 1, 2] as const;
const error = (status: number, text = '') => ({ status, body: { status, error: expect.stringContaining(text) } });
const ok = (status: UploadStatus, more: object = {}) => ({ status: 200, body: { status, ...more } });
const getUpload = async (id: string) => (await api.get(`/videos?video_id=${id}`)).body;

/** Creates an upload in a status, by the usual steps. */
async function uploadIn(status: UploadStatus, camera: FakeCamera): Promise<string> {
  const id = await requestClip(api, camera);
  if (status === 'paused') await controlClip(api, id, pause);
  if (status === 'cancelled') await controlClip(api, id, cancel);
  if (status === 'completed' || status === 'failed') await uploads.records.transition(id, ['uploading'], status);
  expect(await uploads.getRecord(id)).toMatchObject({ status });
  camera.frames.length = 0;
  return id;
}

/** Writes what upload-ftp writes when bytes arrive. */
const byteFields = { filesize: 4096, filename: 'ch1.mp4' };

describe('a valid action', () => {
  it.each([
    ['uploading', pause, 'paused'],
    ['paused', resume, 'uploading'],
    ['uploading', cancel, 'cancelled'],
    ['paused', cancel, 'cancelled'],
  ] as const)(
    '%s, action %i: the camera receives the serial of its 0x9206, and the upload is %s',
    async (from, action, to) => {
      const camera = await uploads.connectCamera();
      const id = await uploadIn(from, camera);
      const { commandSerialNo, createdAtMs } = await uploads.getRecord(id);
      const { status, body } = await controlClip(api, id, action);
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          video_id: id,
          imei: camera.imei,
          channel: 1,
          video_start_time: '2026-08-01T09:00:00+08:00',
          video_end_time: '2026-08-01T10:00:00+08:00',
          filesize: 0,
          status: to,
        },
      });
      expect(camera.frames).toEqual([{ kind: 'controlUpload', uploadSerialNo: commandSerialNo, control: action }]);
      expect(await uploads.getRecord(id)).toMatchObject({ status: to, control: null, createdAtMs });
      expect(await getUpload(id)).toEqual(body);
    },
  );

  it('retains received files, except that a cancel deletes them and closes the sessions', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    await uploads.records.set(id, ['uploading'], byteFields);
    expect(await controlClip(api, id, pause)).toMatchObject(ok('paused', byteFields));
    expect(await controlClip(api, id, resume)).toMatchObject(ok('uploading', byteFields));
    expect(uploads.removed).not.toContain(id);
    const { body } = await controlClip(api, id, cancel);
    expect(body).toMatchObject({ status: 'cancelled', filesize: 0 });
    expect(body).not.toHaveProperty('filename');
    expect(uploads.removed).toContain(id);
    await waitFor(() => uploads.revoked.includes(id));
    expect(await uploads.getRecord(id)).toMatchObject({ credential: null, files: [], server: null });
  });

  it('cancels also if the files cannot be deleted yet, as recorded', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    uploads.isRemoving = false;
    const response = await controlClip(api, id, cancel);
    uploads.isRemoving = true;
    expect(response).toMatchObject(ok('cancelled', { filesize: 0 }));
    expect((await uploads.getRecord(id)).server).not.toBeNull();
  });

  it('publishes a stored event for a cancelled upload', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    await controlClip(api, id, cancel);
    const manager = await uploads.harness.bus.jetstreamManager();
    const message = await manager.streams.getMessage('UPLOADS', { last_by_subj: uploadSubject(id, 'closed') });
    expect(message.json()).toMatchObject({
      uploadId: id,
      imei: camera.imei,
      channel: 1,
      status: 'cancelled',
      filesize: 0,
      filename: null,
    });
  });
});

describe('an invalid action', () => {
  it.each([
    ['uploading', [resume]],
    ['paused', [pause]],
    ['completed', [pause, resume, cancel]],
    ['failed', [pause, resume, cancel]],
    ['cancelled', [pause, resume, cancel]],
  ] as const)('is 409 for an upload that is %s, and sends no command', async (status, actions) => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn(status, camera);
    const before = await uploads.getRecord(id);
    for (const action of actions) expect(await controlClip(api, id, action)).toMatchObject(error(409, status));
    expect(camera.frames).toEqual([]);
    expect(await uploads.getRecord(id)).toEqual(before);
  });

  it.each([
    ['action=0', 'video_id'],
    [`video_id=${'0'.repeat(24)}`, 'action'],
    [`video_id=${'0'.repeat(23)}&action=0`, 'video_id'],
    [`video_id=${'g'.repeat(24)}&action=0`, 'video_id'],
    [`video_id=${'0'.repeat(24)}&action=3`, 'action'],
    [`video_id=${'0'.repeat(24)}&action=pause`, 'action'],
  ])('is 400 for %p', async (query, name) => {
    expect(await api.get(`/videos/control?${query}`)).toMatchObject(error(400, name));
  });

  it('is 404 for a missing upload', async () => {
    expect(await controlClip(api, '0123456789abcdef01234567', pause)).toMatchObject(error(404, 'no upload'));
  });

  it('accepts the id in capital letters', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    expect(await controlClip(api, id.toUpperCase(), pause)).toMatchObject(ok('paused', { video_id: id }));
  });
});

describe('a camera that refuses', () => {
  const actions = [
    ['uploading', pause],
    ['paused', resume],
    ['uploading', cancel],
    ['paused', cancel],
  ] as const;
  it.each(actions.flatMap(([status, action]) => [1, 2, 3].map((result) => [status, action, result] as const)))(
    '%s, action %i refused with %i: 200 with the unchanged upload',
    async (status, action, result) => {
      const camera = await uploads.connectCamera();
      const id = await uploadIn(status, camera);
      await uploads.records.set(id, [status], byteFields);
      const before = await uploads.getRecord(id);
      camera.respond = rejectWith(result);
      expect(await controlClip(api, id, action)).toMatchObject(ok(status, byteFields));
      expect(await uploads.getRecord(id)).toEqual(before);
      expect(uploads.removed).not.toContain(id);
      // The camera is locked as before.
      camera.respond = () => undefined;
      expect((await api.get(uploadPath(camera.imei, { clip: 2 }))).status).toBe(status === 'paused' ? 200 : 409);
    },
  );

  it.each(
    actions.flatMap(([status, action]) =>
      [
        ['is gone', { kind: 'notConnected' }, 404],
        ['is silent', { kind: 'timedOut' }, 504],
        ['answers nonsense', { kind: 'unreadable', detail: 'x' }, 502],
        ['returns an unknown result', rejectWith(9), 502],
        ['responds without a result', rejectWith(255), 502],
      ].map(([what, outcome, code]) => [status, action, what, outcome, code] as const),
    ),
  )('%s, action %i: nothing changes when it %s', async (status, action, _what, outcome, code) => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn(status, camera);
    const before = await uploads.getRecord(id);
    camera.respond = typeof outcome === 'function' ? outcome : () => outcome as never;
    expect(await controlClip(api, id, action)).toMatchObject(error(code as number));
    expect(await uploads.getRecord(id)).toEqual(before);
    camera.respond = () => undefined;
    expect((await controlClip(api, id, action)).status).toBe(200);
    expect(camera.actions).toEqual([action, action]);
  });

  it('is 504 without a response within the time-out of controls', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    const release = camera.hold();
    expect(await controlClip(quick, id, pause)).toMatchObject(error(504, 'did not reply'));
    release();
    expect(await getUpload(id)).toMatchObject({ status: 'uploading' });
    expect(await controlClip(api, id, pause)).toMatchObject(ok('paused'));
  });

  it('is 502 if the response to the 0x9206 was lost with a process: its serial is unknown', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    await uploads.records.set(id, ['uploading'], { commandSerialNo: null, reservedUntilMs: Date.now() - 1 });
    expect(await controlClip(api, id, pause)).toMatchObject(error(502, 'lost'));
    expect(camera.frames).toEqual([]);
  });
});

describe('an upload with bytes and without a response to its 0x9206', () => {
  it('is controlled once the response contains the serial', async () => {
    const camera = await uploads.connectCamera();
    const release = camera.hold();
    const request = api.get(uploadPath(camera.imei));
    await waitFor(() => camera.requests === 1);
    const [record] = await uploads.findRecords(camera.imei);
    const id = record?._id ?? '';
    await uploads.records.transition(id, ['reserved'], 'uploading', byteFields);
    const pausing = controlClip(replica, id, pause);
    await uploads.waitUntilAdmitted(camera.imei, 2);
    expect(camera.actions).toEqual([]);
    release();
    expect((await request).status).toBe(200);
    expect(await pausing).toMatchObject(ok('paused', byteFields));
    expect(camera.frames.at(-1)).toEqual({ kind: 'controlUpload', uploadSerialNo: 0x0200, control: pause });
  });
});

describe('a camera that is busy with another upload', () => {
  it('does not resume: 409 without a command, and the other continues', async () => {
    const camera = await uploads.connectCamera();
    const first = await uploadIn('paused', camera);
    const second = await requestClip(api, camera, { channel: 2 });
    camera.frames.length = 0;
    expect(await controlClip(api, first, resume)).toMatchObject(error(409, 'another clip'));
    expect(camera.frames).toEqual([]);
    expect(await getUpload(first)).toMatchObject({ status: 'paused' });
    expect(await controlClip(api, second, pause)).toMatchObject(ok('paused'));
    expect(await controlClip(api, first, resume)).toMatchObject(ok('uploading'));
    expect(await controlClip(api, second, resume)).toMatchObject(error(409));
    await uploads.records.transition(first, ['uploading'], 'completed');
    expect(await controlClip(api, second, resume)).toMatchObject(ok('uploading'));
  });

  it('is locked by a pending resume', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('paused', camera);
    const release = camera.hold();
    const resuming = controlClip(api, id, resume);
    await waitFor(() => camera.actions.length === 1);
    expect(await replica.get(uploadPath(camera.imei, { clip: 2 }))).toMatchObject(error(409));
    release();
    expect(await resuming).toMatchObject(ok('uploading'));
    expect(camera.requests).toBe(0);
  });
});

describe('concurrent commands', () => {
  it.each([
    ['uploading', [pause, cancel]],
    ['uploading', [cancel, pause]],
    ['paused', [resume, cancel]],
    ['paused', [cancel, resume]],
    ['uploading', [pause, pause]],
    ['paused', [cancel, cancel]],
    ['paused', [resume, resume]],
  ] as const)('%s, actions %j: the first wins, the other is 409 and is not sent', async (status, [one, two]) => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn(status, camera);
    const commandsBefore = status === 'paused' ? 2 : 1;
    const release = camera.hold();
    const first = controlClip(api, id, one);
    await waitFor(() => camera.actions.length === 1);
    const second = controlClip(replica, id, two);
    await uploads.waitUntilAdmitted(camera.imei, commandsBefore + 2);
    release();
    expect((await first).status).toBe(200);
    expect(await second).toMatchObject(error(409));
    expect(camera.actions).toEqual([one]);
    expect(await getUpload(id)).toMatchObject({ status: ((await first).body as { status: string }).status });
  });

  it('in any order: one succeeds, all others are 409, and the camera receives only that one', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    const release = camera.hold();
    const requests = Array.from({ length: 12 }, (_, index) =>
      controlClip(index % 2 === 0 ? api : replica, id, index % 3 === 0 ? cancel : pause),
    );
    await waitFor(() => camera.actions.length === 1);
    release();
    const responses = await Promise.all(requests);
    // A caller after the end of the winner sees the new status, for which its action may be valid: a cancel after a
    // pause.
    const done = responses.filter(({ status }) => status === 200);
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(12 - done.length);
    expect(camera.actions).toHaveLength(done.length);
    const { status } = await uploads.getRecord(id);
    expect(status).toBe(camera.actions.at(-1) === cancel ? 'cancelled' : 'paused');
  });

  it('waits for the first and is executed if that was refused', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    const release = camera.hold();
    const first = controlClip(api, id, pause);
    await waitFor(() => camera.actions.length === 1);
    const second = controlClip(replica, id, cancel);
    await uploads.waitUntilAdmitted(camera.imei, 3);
    release(rejectWith(1));
    expect(await first).toMatchObject(ok('uploading'));
    expect(await second).toMatchObject(ok('cancelled'));
    expect(camera.actions).toEqual([pause, cancel]);
  });

  it('is 504 if the first does not end in time', async () => {
    const camera = await uploads.connectCamera();
    const id = await uploadIn('uploading', camera);
    const release = camera.hold();
    const first = controlClip(api, id, pause);
    await waitFor(() => camera.actions.length === 1);
    expect(await controlClip(quick, id, cancel)).toMatchObject(error(504));
    release();
    expect(await first).toMatchObject(ok('paused'));
    expect(camera.actions).toEqual([pause]);
  });
});

describe('an upload that ends during the command', () => {
  it.each([
    ['uploading', pause, 'completed'],
    ['uploading', cancel, 'completed'],
    ['uploading', pause, 'failed'],
    ['paused', resume, 'failed'],
  ] as const)('%s, action %i, then %s (as by 0x1206): 409, and it stays so', async (from, action, ended) => {
    for (const response of [rejectWith(0), rejectWith(1)]) {
      const camera = await uploads.connectCamera();
      const id = await uploadIn(from, camera);
      const release = camera.hold();
      const controlling = controlClip(api, id, action);
      await waitFor(() => camera.actions.length === 1);
      await uploads.records.transition(id, [from], ended, byteFields);
      release(response);
      expect(await controlling).toMatchObject(error(409, ended));
      expect(await getUpload(id)).toMatchObject({ status: ended, ...byteFields });
      expect(uploads.removed).not.toContain(id);
      expect((await api.get(uploadPath(camera.imei, { clip: 2 }))).status).toBe(200);
    }
  });
});
