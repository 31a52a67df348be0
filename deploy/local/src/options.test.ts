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

  it('takes the switch, the offset and the folder', () => {
    const options = readOptions(['--no-simulator'], { PORT_OFFSET: '100', DATA_DIR: '/elsewhere', HOST: '0.0.0.0' });
    expect(options).toMatchObject({ simulator: false, portOffset: 100, dataDir: '/elsewhere', host: '0.0.0.0' });
  });

  it.each([
    [['--no-simulatr'], {}, /--no-simulatr is not an option/],
    [[], { PORT_OFFSET: 'ten' }, /PORT_OFFSET is ten/],
    [[], { PORT_OFFSET: '-1' }, /whole number from 0/],
    [[], { PORT_OFFSET: '65000' }, /whole number from 0/],
    [[], { PORT_OFFSET: '2000' }, /browsers refuse port 10080/],
    [[], { PORT_OFFSET: '1993' }, /browsers refuse port 10080/],
    [[], { HOST: 'my-machine' }, /HOST is my-machine/],
  ])('refuses %j %j with one sentence', (args, env, message) => {
    expect(() => readOptions(args, env)).toThrow(message);
  });
});

describe('addresses', () => {
  it('reaches a wildcard door over loopback, and tells terminals an address that is none', () => {
    expect(localAddress('0.0.0.0')).toBe('127.0.0.1');
    expect(publicAddress('0.0.0.0')).not.toBe('0.0.0.0');
    expect(publicAddress('192.0.2.7')).toBe('192.0.2.7');
  });

  it('knows all of loopback', () => {
    expect(['127.0.0.1', '127.1.2.3', '::1'].every(isLoopback)).toBe(true);
    expect(['0.0.0.0', '10.0.0.1', '::'].some(isLoopback)).toBe(false);
  });
});
