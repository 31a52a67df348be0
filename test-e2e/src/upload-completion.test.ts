import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { findDefects, UploadCamera, uploadAction } from './testing/upload-camera.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;

beforeAll(async () => {
  // The timeouts of docs/reference/video.md, shortened to seconds.
  harness = await startHarness({
    UPLOAD_SILENCE_MS: '6000',
    UPLOAD_TIMEOUT_MS: '20000',
    UPLOAD_PAUSED_MS: '6000',
    UPLOAD_UNCONFIRMED_MS: '4000',
    UPLOAD_SWEEP_MS: '500',
  });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

/** 0x0001 with success (JT/T 808-2013 table 4), of a camera that does not execute the command. */
function success(messageId: number, serial: number): { messageId: number; body: Buffer } {
  const body = Buffer.alloc(5);
  body.writeUInt16BE(serial, 0);
  body.writeUInt16BE(messageId, 2);
  return { messageId: 0x0001, body };
}

/** 0x1206 with a failure (JT/T 1078-2016 table 27) for the 0x9206 with this serial. */
function uploadFailure(commandSerial: number): { messageId: number; body: Buffer } {
  const body = Buffer.alloc(3);
  body.writeUInt16BE(commandSerial, 0);
  body.writeUInt8(1, 2);
  return { messageId: 0x1206, body };
}

describe('0x1206', () => {
  it('failure directly after the response to 0x9206 ends the upload, so that the next clip can be requested', async () => {
    const camera = await UploadCamera.start(harness, {
      respond: ({ messageId, serial }) =>
        messageId === 0x9206 ? [success(messageId, serial), uploadFailure(serial)] : undefined,
    });
    for (let index = 0; index < 12; index += 1) {
      const videoId = await camera.upload(camera.getClip(index));
      expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed', filesize: 0 });
    }
  });

  it('failure marks an upload as failed, even if its file is complete; the upload can be deleted', async () => {
    const camera = await UploadCamera.start(harness, { uploadNotice: 'failure' });
    const videoId = await camera.upload(camera.getClip(0));
    expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed' });
    expect((await camera.download(videoId)).status).toBe(409);
    expect(await camera.requestClip(camera.getClip(0))).toMatchObject({ status: 200, body: { result: 'failed' } });
    expect(await camera.control(videoId, uploadAction.resume)).toMatchObject({ status: 409 });
    expect(await camera.deleteUpload(videoId)).toMatchObject({ status: 200, body: { status: 'failed' } });
    expect(await camera.readStoredFiles(videoId)).toEqual([]);
  });

  it('failure of a camera that gives up midway keeps the received bytes', async () => {
    const camera = await UploadCamera.start(harness, {
      uploadRetries: 0,
      uploadFaults: [{ how: 'reset', afterBytes: 100_000 }],
    });
    const videoId = await camera.upload(camera.getClip(0));
    const { filesize } = await camera.waitForStatus(videoId, 'failed');
    expect(filesize).toBeGreaterThan(0);
    expect(filesize).toBeLessThanOrEqual(100_000);
  });

  it('success after a transfer that was reset never marks an upload as completed', async () => {
    const camera = await UploadCamera.start(harness, {
      uploadRetries: 0,
      uploadNotice: 'success',
      uploadFaults: [{ how: 'reset', afterBytes: 100_000 }],
    });
    const videoId = await camera.upload(camera.getClip(0));
    expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed' });
  });

  it('that is never sent is replaced by a QUIT', async () => {
    const camera = await UploadCamera.start(harness, { uploadNotice: 'never' });
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
  });

  it('that is never sent, without a QUIT, is replaced by the size in the list of recordings', async () => {
    const camera = await UploadCamera.start(harness, { uploadNotice: 'never', uploadQuits: false });
    const clip = camera.getClip(0);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    expect(await findDefects(camera, clip, videoId)).toEqual([]);
    expect(camera.terminal.receivedFrames(0x9205).length).toBeGreaterThan(0);
  });

  it('that is never sent, after an early FIN without a QUIT, leaves the upload failed', async () => {
    const camera = await UploadCamera.start(harness, {
      uploadRetries: 0,
      uploadNotice: 'never',
      uploadQuits: false,
      uploadFaults: [{ how: 'finish', afterBytes: 100_000 }],
    });
    const videoId = await camera.upload(camera.getClip(0));
    expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed' });
  });
});

describe('a silent camera', () => {
  it('in the middle of a file fails the upload and is free again', async () => {
    const camera = await UploadCamera.start(harness, {
      uploadRetryMs: 600_000,
      uploadFaults: [{ how: 'reset', afterBytes: 100_000 }],
    });
    const videoId = await camera.upload(camera.getClip(0));
    expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed' });
    camera.terminal.uploads.close();
    const other = await camera.upload(camera.getClip(1));
    expect(await camera.waitForStatus(other, 'completed')).toMatchObject({ status: 'completed' });
  });

  it('before the first byte fails the upload too, if the mobile network is allowed', async () => {
    const camera = await UploadCamera.start(harness, { uploadRetryMs: 600_000 });
    const videoId = await camera.upload(camera.getClip(0), '&host=127.0.0.1&port=9');
    expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed' });
  });

  it('before the first byte fails an upload that waits for another network only by its age', async () => {
    const camera = await UploadCamera.start(harness, { uploadRetryMs: 600_000 });
    const startedAt = performance.now();
    const videoId = await camera.upload(camera.getClip(0), '&host=127.0.0.1&port=9&mobile_network=false');
    expect(await camera.waitForStatus(videoId, 'failed')).toMatchObject({ status: 'failed' });
    expect(performance.now() - startedAt).toBeGreaterThan(15_000);
  });

  it('during a paused upload fails it by its age', async () => {
    const camera = await UploadCamera.start(harness, { uploadBytesPerSecond: 55_000 });
    const videoId = await camera.upload(camera.getClip(0));
    await camera.waitForBytes(videoId);
    await camera.control(videoId, uploadAction.pause);
    const { filesize } = await camera.waitForStatus(videoId, 'failed');
    expect(filesize).toBeGreaterThan(0);
  });
});

describe('a credential', () => {
  it('is invalid when its upload is over: a camera that continues is refused, and nothing of it is stored', async () => {
    const camera = await UploadCamera.start(harness, {
      uploadBytesPerSecond: 55_000,
      respond: ({ messageId, serial }) => (messageId === 0x9207 ? [success(messageId, serial)] : undefined),
    });
    const videoId = await camera.upload(camera.getClip(0));
    await camera.waitForBytes(videoId);
    expect(await camera.control(videoId, uploadAction.cancel)).toMatchObject({ body: { status: 'cancelled' } });
    const [record] = camera.terminal.uploads.records;
    await waitFor(() => record?.state === 'failed', 'the camera to give up');
    expect(record?.error).toMatch(/^530 /);
    await waitFor(() => camera.terminal.sentFrames(0x1206).length > 0, 'its failure to be reported');
    expect(await camera.getUpload(videoId)).toMatchObject({ status: 'cancelled', filesize: 0 });
    expect(await camera.readStoredFiles(videoId)).toEqual([]);
  });
});
