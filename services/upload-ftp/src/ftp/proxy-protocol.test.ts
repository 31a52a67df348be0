import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RawControl } from '../testing/raw-control.ts';
import { clipBytes, UploadHarness } from '../testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const headerOf = (address: string): string => `PROXY TCP4 ${address} 10.0.0.1 50000 2121\r\n`;

describe('FTP through a load balancer that sends PROXY protocol headers', () => {
  let harness: UploadHarness;
  beforeAll(async () => {
    harness = await UploadHarness.start({ PROXY_PROTOCOL_NETWORKS: '127.0.0.0/8', FTP_PUBLIC_HOST: '192.0.2.7' });
  });
  afterAll(() => harness.stop());

  /** Logs a camera in from an address, and opens its passive data connection from another one. */
  async function openData(from: string, dataFrom: string) {
    const upload = await harness.createGrantedUpload();
    const control = new RawControl(harness.service.ftpPort);
    await control.write(headerOf(from));
    await control.expectReply(220);
    await control.sendCommand(`USER ${upload.username}`, 331);
    await control.sendCommand(`PASS ${upload.password}`, 230);
    const data: Socket = await control.openPassive();
    data.write(headerOf(dataFrom));
    return { upload, control, data };
  }

  it('receives a clip whose control and data connections are from the same camera', async () => {
    const { upload, control, data } = await openData('203.0.113.9', '203.0.113.9');
    const clip = clipBytes(100_000, 1);
    await control.sendCommand('STOR clip.mp4', 150);
    data.end(clip);
    await control.expectReply(226);
    await waitFor(() => readFileSync(harness.path(upload, 'clip.mp4')).equals(clip));
    expect(control.output).toContain('192,0,2,7');
    control.socket.destroy();
  });

  it('closes a data connection of another camera', async () => {
    const { control, data } = await openData('203.0.113.9', '203.0.113.10');
    await once(data, 'close');
    await control.waitUntil(() => control.isClosed);
    expect(control.codes).toContain('550');
  });

  it('closes a control connection of a load balancer without a header', async () => {
    const control = new RawControl(harness.service.ftpPort);
    await control.write('USER camera\r\n');
    await control.waitUntil(() => control.isClosed);
    expect(control.output).toBe('');
  });
});
