import { describe, expect, it } from '@jest/globals';
import { isLoopback, localAddress, publicAddress } from './addresses.ts';
import { readOptions } from './options.ts';

describe('readOptions', () => {
  it('has the documented defaults', () => {
    expect(readOptions([], {})).toMatchObject({
      host: '127.0.0.1',
      portOffset: 0,
      simulator: true,
      stopWithStdin: false,
    });
    expect(readOptions([], {}).dataDir).toMatch(/\.data$/);
  });

  it('accepts the switch, the offset and the folder', () => {
    const options = readOptions(['--no-simulator'], { PORT_OFFSET: '100', DATA_DIR: '/elsewhere', HOST: '0.0.0.0' });
    expect(options).toMatchObject({ simulator: false, portOffset: 100, dataDir: '/elsewhere', host: '0.0.0.0' });
  });

  it.each(['100', '1000', '35400'])('accepts PORT_OFFSET=%s alongside a start without an offset', (offset) => {
    expect(readOptions([], { PORT_OFFSET: offset }).portOffset).toBe(Number(offset));
  });

  it.each([
    [['--no-simulatr'], {}, /--no-simulatr is not an option/],
    [[], { PORT_OFFSET: 'ten' }, /PORT_OFFSET is ten/],
    [[], { PORT_OFFSET: '-1' }, /whole number from 0/],
    [[], { PORT_OFFSET: '65000' }, /PORT_OFFSET is 65000: FTP_PASV_MAX would be 95099, and ports end at 65535/],
    [[], { PORT_OFFSET: '35437' }, /FTP_PASV_MAX would be 65536/],
    [[], { PORT_OFFSET: '1' }, /HTTP_PORT of the reverse proxy would be 8081, which is VIDEO_HTTP_PORT of a start/],
    [[], { PORT_OFFSET: '50' }, /FTP_PASV_MIN to FTP_PASV_MAX would be 30050, which is FTP_PASV_MIN to FTP_PASV_MAX/],
    [
      [],
      { PORT_OFFSET: '9300' },
      /MEDIA_HISTORY_PORT would be 16379, which is the port of Redis of a start without it/,
    ],
    [[], { PORT_OFFSET: '22000' }, /HTTP_PORT of the reverse proxy would be 30080, which is FTP_PASV_MIN/],
    [[], { PORT_OFFSET: '2000' }, /browsers refuse port 10080/],
    [[], { PORT_OFFSET: '1993' }, /browsers refuse port 10080/],
    [[], { HOST: 'my-machine' }, /HOST is my-machine/],
  ])('refuses %j %j with one sentence', (args, env, message) => {
    expect(() => readOptions(args, env)).toThrow(message);
  });
});

describe('addresses', () => {
  it('reaches a wildcard port over loopback, and gives terminals an address other than the wildcard', () => {
    expect(localAddress('0.0.0.0')).toBe('127.0.0.1');
    expect(publicAddress('0.0.0.0')).not.toBe('0.0.0.0');
    expect(publicAddress('192.0.2.7')).toBe('192.0.2.7');
  });

  it('recognizes all of loopback', () => {
    expect(['127.0.0.1', '127.1.2.3', '::1'].every(isLoopback)).toBe(true);
    expect(['0.0.0.0', '10.0.0.1', '::'].some(isLoopback)).toBe(false);
  });
});
