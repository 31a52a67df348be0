import { readFileSync } from 'node:fs';
import { callUseCase, decodeJson, expectAttachments, type MediaStored, mediaStoredSubject } from '@fleet/bus';
import { terminalKey } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AttachmentClient } from '../testing/attachment-client.ts';
import { clipBytes, sha256, UploadHarness } from '../testing/upload-harness.ts';
import { type Expectation, ExpectedAttachments } from './expected-attachments.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const phone = `0138${String(Math.trunc(Math.random() * 1e8)).padStart(8, '0')}`;
const imei = terminalKey(phone) ?? '';
const alarmNo = 'abcdef0123456789'.repeat(2);
const name = `00_65_6502_0_${alarmNo}.jpg`;
const picture = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), clipBytes(100_000)]);

let harness: UploadHarness;
beforeAll(async () => {
  harness = await UploadHarness.start({ ATTACHMENT_SWEEP_MS: '100', ATTACHMENT_PUBLIC_HOST: 'files.example' });
});
afterAll(() => harness.stop());

const expectFiles = (more: { alarmNo?: string; lifetimeMs?: number } = {}) =>
  callUseCase(
    harness.bus,
    expectAttachments,
    { alarmNo, imei, accountId: 5, vehicleId: 6, notificationId: 7, count: 1, lifetimeMs: 60_000, ...more },
    { timeoutMs: 10_000 },
  );
const stored = (): Promise<Expectation[]> =>
  harness.database.collection<Expectation>('attachment_expectations').find({}).toArray();
/** Returns the outcome of a request, once the service that has just started responds. */
async function requestExpectation(): Promise<string> {
  let response = 'noResponders';
  await waitFor(async () => {
    response = await expectFiles().then(
      () => 'expected',
      (error: { kind?: string; code?: string }) => error.kind ?? error.code ?? 'failed',
    );
    return response !== 'noResponders';
  });
  return response;
}

/** Opens a connection whose list is accepted. Reconnects like a terminal if there is no response. */
async function listed(more: { infoType?: number } = {}): Promise<AttachmentClient> {
  for (;;) {
    const client = await AttachmentClient.connect(harness.service.attachmentPort, phone);
    const result = await client.sendAlarmInfo(alarmNo, { [name]: picture.length }, more);
    if (result === 0) return client;
    client.socket.destroy();
    if (result !== -1) throw new Error(`the response to the list is ${result}`);
  }
}

describe('attachments in the service', () => {
  it('stores one expectation for repeated and concurrent requests', async () => {
    const server = { host: 'files.example', tcpPort: harness.service.attachmentPort };
    const expectations = new ExpectedAttachments(harness.database);
    const { accountId, vehicleId, notificationId, count } = { accountId: 5, vehicleId: 6, notificationId: 7, count: 1 };
    const [response] = await Promise.all([
      expectFiles(),
      expectFiles(),
      expectations.expect({ _id: alarmNo, imei, accountId, vehicleId, notificationId, count, expiresAtMs: 1 }),
    ]);
    expect(response).toEqual(server);
    expect(await stored()).toMatchObject([{ _id: alarmNo, imei, accountId, vehicleId, notificationId, count }]);
    const [first] = await stored();
    expect(first?.expiresAtMs).toBeGreaterThan(Date.now() + 20_000);
  });

  it('stores an attachment and publishes its event before confirming it to the terminal', async () => {
    const client = await listed();
    client.sendData(name, 0, picture);
    expect(await client.sendFileComplete(name, picture.length)).toMatchObject({ result: 0 });
    const manager = await harness.bus.jetstreamManager();
    const { data } = await manager.streams.getMessage('MEDIA', { last_by_subj: mediaStoredSubject(imei) });
    const event = decodeJson(data) as MediaStored;
    expect(event).toMatchObject({
      imei,
      server: harness.podId,
      kind: 'image',
      mimeType: 'image/jpeg',
      sizeBytes: picture.length,
      channel: 65,
      attachment: { alarmNo, accountId: 5, vehicleId: 6, notificationId: 7, name },
    });
    expect(await stored()).toMatchObject([{ files: [{ name, fileId: event.fileId }] }]);
    const { fileId } = event;
    const file = readFileSync(`${harness.clipsDir}/.media/${imei}/${fileId}`);
    expect(sha256(file)).toBe(sha256(picture));
    client.socket.destroy();
  });

  it('recognizes a stored attachment after a restart', async () => {
    await harness.service.stop();
    await harness.startService();
    expect(await requestExpectation()).toBe('expected');
    const client = await listed({ infoType: 1 });
    expect(await client.sendFileComplete(name, picture.length)).toMatchObject({ result: 0, retransmit: [] });
    expect(await harness.metric('upload_ftp_attachment_files_total')).toMatch(/result="known"[^\n]* 1$/m);
    client.socket.destroy();
  });

  it('deletes expectations that have expired', async () => {
    const other = 'f'.repeat(32);
    await expectFiles({ alarmNo: other, lifetimeMs: 1 });
    await waitFor(async () => (await stored()).every(({ _id }) => _id !== other));
    expect(await stored()).toMatchObject([{ _id: alarmNo }]);
  });

  it('refuses expectations while nothing can be stored and during a stop', async () => {
    await harness.service.stop();
    await expect(expectFiles()).rejects.toMatchObject({ kind: 'noResponders' });
    await harness.startService({ CLIPS_MIN_FREE_BYTES: String(Number.MAX_SAFE_INTEGER).slice(0, 15) });
    expect(await requestExpectation()).toBe('unavailable');
  });
});
