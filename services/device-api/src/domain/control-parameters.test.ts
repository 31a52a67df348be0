import { describe, expect, it } from '@jest/globals';
import { encodeControlParameters } from './control-parameters.ts';

const upgrade = 'http://fw.example.com/a.bin;cmnet;;;fw.example.com;21;0;ABCDE;HW1.0;FW2.3.1;30';

describe('encodeControlParameters', () => {
  it.each([
    [1, upgrade, upgrade],
    [1, `${upgrade};`, upgrade],
    [1, 'ftp://fw.example.com/a.bin', 'ftp://fw.example.com/a.bin;;;;;;;;;;'],
    [1, ';;;;fw.example.com;65535;0', ';;;;fw.example.com;65535;0;;;;'],
    [2, '0;code;apn;;;host;7808;0;60', '0;code;apn;;;host;7808;0;60'],
    [2, '0;;;;;host;7808', '0;;;;;host;7808;;'],
    [2, '0;码;;;;host;7808;0;0', '0;码;;;;host;7808;0;0'],
    [2, '1', '1'],
    [2, '1;;;;;;;;', '1'],
    [0, 'a;b', 'a;b'],
    [8, ';', ';'],
    [123, 'as;123;zxc;123;', 'as;123;zxc;123;'],
    [255, 'x'.repeat(1022), 'x'.repeat(1022)],
  ])('of command %i: %j is sent as %j', (command, given, sent) => {
    expect(encodeControlParameters(command, given)).toBe(sent);
  });

  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 255])('of command %i may be absent, null or empty', (command) => {
    expect(encodeControlParameters(command, null)).toBeNull();
    expect(encodeControlParameters(command, '')).toBeNull();
  });

  it.each([
    [1, `${upgrade};1`, /holds 12 parameters; command 1 has 11\.$/],
    [1, `${upgrade};;`, /holds 13 parameters/],
    [1, ';;;;;65536', /whole number of 0 to 65535, or nothing, as parameter 6 \(TCP port\)/],
    [1, ';;;;;;;;;;1.5', /parameter 11 \(time limit\)/],
    [2, '0;;;;;host;7808;0;60;1', /holds 10 parameters; command 2 has 9/],
    [2, '2;;;;;host;7808', /whole number of 0 to 1, or nothing, as parameter 1 \(connection control\)/],
    [2, 'host;7808', /parameter 1/],
    [2, ';;;;;host;7808', /must begin with the connection control/],
    [2, '1;;;;;host', /must hold nothing more/],
    ...['-1', '-0', '+1', '1e3', '0x10', ' 80', '80 ', '080', '٨٠', '99999999999', 'NaN'].map(
      (port): [number, string, RegExp] => [2, `0;;;;;host;${port}`, /parameter 7 \(TCP port\)/],
    ),
    ...[3, 4, 5, 6, 7].map((command): [number, string, RegExp] => [
      command,
      'x',
      new RegExp(`must be absent with command ${command}: the standard defines none`),
    ]),
    [9, 'x'.repeat(1023), /has 1023 bytes in GBK; at most 1022 can be sent/],
    [9, '车'.repeat(512), /has 1024 bytes in GBK/],
    [1, `${'x'.repeat(1013)};`, /has 1023 bytes in GBK/],
    [2, '0;😀', /GBK lacks them: 😀 \(U\+1F600\)\.$/],
  ])('of command %i: %j is rejected', (command, given, message) => {
    expect(() => encodeControlParameters(command, given)).toThrow(
      expect.objectContaining({ status: 400, message: expect.stringMatching(message) }),
    );
    expect(() => encodeControlParameters(command, given)).toThrow(/^The body field parameters /);
  });
});
