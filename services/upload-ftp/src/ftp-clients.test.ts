import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { selfSigned } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'basic-ftp';
import { clipBytes, sha256, UploadHarness } from './testing/upload-harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const clip = clipBytes(500_000, 9);

describe('common FTP clients', () => {
  const dir = mkdtempSync(join(tmpdir(), 'fleet-ftp-clients-'));
  let harness: UploadHarness;
  beforeAll(async () => {
    const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
    const pair = selfSigned();
    writeFileSync(certFile, pair.cert);
    writeFileSync(keyFile, pair.key);
    harness = await UploadHarness.start({ FTP_TLS_CERT_FILE: certFile, FTP_TLS_KEY_FILE: keyFile });
  });
  afterAll(async () => {
    await harness.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  async function run(command: string, args: readonly string[]): Promise<string> {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes));
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`${command} exited with ${code}: ${output}`);
    return output;
  }

  const script = `
import ftplib, ssl, sys
port, user, password, path, form = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5]
if form == 'tls':
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    ftp = ftplib.FTP_TLS(context=context)
else:
    ftp = ftplib.FTP()
ftp.connect('127.0.0.1', port, timeout=30)
ftp.login(user, password)
if form == 'tls':
    ftp.prot_p()
ftp.set_pasv(form != 'active')
ftp.mkd('/clips')
ftp.cwd('/clips')
data = open(path, 'rb').read()
half = len(data) // 2
import io
ftp.storbinary('STOR a.mp4', io.BytesIO(data[:half]))
assert ftp.size('a.mp4') == half
ftp.storbinary('STOR a.mp4', io.BytesIO(data[half:]), rest=half)
assert ftp.nlst() == [], ftp.nlst()
ftp.rename('a.mp4', 'b.mp4')
print(ftp.quit())
`;

  it.each(['passive', 'active', 'tls'])('Python’s ftplib uploads in two parts: %s', async (form) => {
    const upload = await harness.createGrantedUpload();
    const file = join(dir, 'clip.mp4');
    writeFileSync(file, clip);
    const { ftpPort } = harness.service;
    const output = await run('python3', ['-c', script, String(ftpPort), upload.username, upload.password, file, form]);
    expect(output).toContain('221 ');
    expect(sha256(harness.read(upload, 'clips/b.mp4'))).toBe(sha256(clip));
    expect(await harness.readRecord(upload.id)).toMatchObject({
      filesize: clip.length,
      filename: 'b.mp4',
      hasQuit: true,
    });
  });

  async function secure(upload: { username: string; password: string }): Promise<Client> {
    const client = new Client(20_000);
    await client.access({
      host: '127.0.0.1',
      port: harness.service.ftpPort,
      user: upload.username,
      password: upload.password,
      secure: true,
      secureOptions: { rejectUnauthorized: false },
    });
    return client;
  }

  it('basic-ftp uploads over TLS and keeps its control connection open after the transfer', async () => {
    const upload = await harness.createGrantedUpload();
    const client = await secure(upload);
    await client.uploadFrom(Readable.from([clip.subarray(0, 200_000)]), 'a.mp4');
    await client.appendFrom(Readable.from([clip.subarray(200_000)]), 'a.mp4');
    expect(await client.size('a.mp4')).toBe(clip.length);
    client.close();
    expect(sha256(harness.read(upload, 'a.mp4'))).toBe(sha256(clip));
  });

  it('commands sent in plain text after AUTH are not accepted inside TLS', async () => {
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw();
    await control.write(`AUTH TLS\r\nUSER ${upload.username}\r\n`);
    await control.waitUntil(() => control.isClosed);
    expect(control.output).not.toContain('331');
  });

  it('a login requires TLS if configured, and incomplete or mismatched TLS settings prevent the start', async () => {
    await harness.service.stop();
    await harness.startService({ FTP_TLS_REQUIRED: 'true' });
    const upload = await harness.createGrantedUpload();
    const control = await harness.raw();
    await control.sendCommand(`USER ${upload.username}`, 530);
    await control.sendCommand(`PASS ${upload.password}`, 530);
    const client = await secure(upload);
    await client.uploadFrom(Readable.from([clip]), 'a.mp4');
    client.close();
    expect(harness.read(upload, 'a.mp4').length).toBe(clip.length);
    await harness.service.stop();
    await expect(harness.startService({ FTP_TLS_KEY_FILE: '' })).rejects.toThrow(/must be set together/);
    await expect(harness.startService({ FTP_TLS_KEY_FILE: join(dir, 'none') })).rejects.toThrow(
      /FTP_TLS_KEY_FILE cannot/,
    );
    await expect(harness.startService({ FTP_TLS_KEY_FILE: join(dir, 'clip.mp4') })).rejects.toThrow(/not a PEM/);
    await harness.startService();
  });
});
