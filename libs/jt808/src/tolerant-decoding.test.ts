import { describe, expect, it } from '@jest/globals';
import * as jt from './index.ts';
import { formatBody } from './message.ts';
import { elementAt } from './testing/shared.ts';

const timeHex = '260801100000';
const textHex = (value: string): string => Buffer.from(value).toString('hex');
const nulPaddedHex = (value: string, size: number): string => textHex(value).padEnd(size * 2, '0');

const locationHex = `00100001 00040003 01e0a6e0 073a20d0 0012 025d 005a ${timeHex}`;

describe('tolerant decoding', () => {
  const decode = (
    definition: jt.MessageDefinition,
    hex: string,
    edition: jt.Edition = '2013',
  ): Record<string, unknown> => jt.decodeBody(definition, Buffer.from(hex.replaceAll(' ', ''), 'hex'), edition);

  it('preserves bytes after the last field and encodes them again', () => {
    const body = decode(jt.terminalGeneralResponse, '0001 8103 00 aabb');
    expect(body).toMatchObject({ result: 0, trailing: Buffer.from('aabb', 'hex') });
    expect(jt.encodeBody(jt.terminalGeneralResponse, body as never).toString('hex')).toBe('0001810300aabb');
    expect(formatBody(jt.terminalHeartbeat, decode(jt.terminalHeartbeat, '5d10'))).toEqual({ vendor_hex: '5D10' });
  });

  it('reads a short registration as 2011 regardless of its header', () => {
    const hex = `0000 0000 ${'00'.repeat(13)} 30303030303031 00`;
    for (const edition of ['2013', '2019'] as const) {
      expect(decode(jt.terminalRegistration, hex, edition)).toMatchObject({ terminalId: '0000001', plateNo: '' });
    }
  });

  it('reads a bare code in a 2019 authentication', () => {
    expect(decode(jt.terminalAuthentication, textHex('code-of-2013'), '2019')).toEqual({ authCode: 'code-of-2013' });
  });

  it('reads 2011 strings with their NUL', () => {
    expect(decode(jt.registrationResponse, `0001 00 ${textHex('code')} 00`, '2011')).toMatchObject({
      authCode: 'code',
    });
  });

  it('detects the second count of 2011 in parameters of a terminal treated as 2013', () => {
    const body = decode(jt.queryParametersResponse, '0001 02 02 00000001 04 0000001e 00000013 01 68');
    expect(body).toMatchObject({ count: 2, packageCount: 2, params: [{ id: 1 }, { id: 0x13 }] });
  });

  it('reads parameters to the end by their own lengths, regardless of the count', () => {
    const body = decode(jt.queryParametersResponse, '0001 09 00000090 04 00000003');
    expect(formatBody(jt.queryParametersResponse, body as never)).toEqual({
      reply_serial: 1,
      count: 9,
      count_mismatch: true,
      params: [{ id: '0x0090', length: 4, hex: '00000003', value: 3 }],
    });
  });

  it('skips an invalid item of a batch', () => {
    const body = decode(jt.locationBatch, `0003 00 0002 ffff 001c ${locationHex} 0004 00000000`);
    expect(body).toMatchObject({ count: 3, items: [{ speedKmh: 60.5 }] });
  });

  it('preserves the base of a location whose item overruns, and does not identify an item by its id alone', () => {
    const body = decode(jt.locationReport, `${locationHex} 64 04 00000001 65 01 00 01 08 00`);
    const formatted = formatBody(jt.locationReport, body as never);
    expect(formatted['extras']).toEqual([
      { id: '0x64', length: 4, hex: '00000001' },
      { id: '0x65', length: 1, hex: '00' },
    ]);
    expect(formatted['extras_trailing_hex']).toBe('010800');
  });

  it('reads wheels without a tyre as null', () => {
    const body = decode(jt.locationReport, `${locationHex} 05 1e 00 7a ff fe ${'ff'.repeat(26)}`);
    const pressures = [0, 122, null, 254, ...Array.from({ length: 26 }, () => null)];
    const extras = (body as jt.LocationReport).extras;
    expect(jt.findAdditionalItem(jt.additionalItemDefinitions.tyrePressures, extras)).toEqual({
      tyrePressures: pressures,
    });
    expect(formatBody(jt.locationReport, body as never)['extras']).toMatchObject([{ tyre_pressures: pressures }]);
    expect(
      jt.createAdditionalItem(jt.additionalItemDefinitions.tyrePressures, { tyrePressures: [0, 122, null, 254] }),
    ).toEqual(extras[0]);
  });

  it('reads the uncounted 0x8500, the byte-counted 0x8003 of 2019 and the empty clearing lists', () => {
    expect(decode(jt.vehicleControl, '0001 01', '2019')).toMatchObject({ items: [{ id: 1 }] });
    expect(decode(jt.platformRetransmitRequest, '0001 01 0003', '2019')).toMatchObject({ packageIds: [3] });
    expect(decode(jt.setPhoneBook, '00')).toEqual({ setType: 0, contacts: [] });
  });

  it('detects that an older unit sends no location with its photo', () => {
    const body = decode(jt.multimediaData, `00000001 00 00 00 01 ffd8 ${'11'.repeat(40)}`);
    expect(body).not.toHaveProperty('location');
    expect(decode(jt.multimediaData, '00000001 00 00 00 01 ffd8')).toMatchObject({ data: Buffer.from('ffd8', 'hex') });
  });

  it('reads long alarm tags by the remaining length', () => {
    const long = (reserved: string): string => `${nulPaddedHex('T', 30)} ${timeHex} 01 02 ${reserved}`;
    for (const [reserved, size] of [
      ['', 0],
      ['aa', 1],
      ['aabb', 2],
    ] as const) {
      const hex = `01 68 0001 0000 ${long(reserved)} ${nulPaddedHex('N1', 32)} ${'00'.repeat(16)}`;
      const body = decode(jt.alarmAttachmentUpload, hex);
      expect(body).toMatchObject({
        tag: { terminalId: 'T', reserved: Buffer.alloc(size, Buffer.from(reserved, 'hex')) },
      });
      expect(jt.encodeBody(jt.alarmAttachmentUpload, body as never).toString('hex')).toBe(hex.replaceAll(' ', ''));
    }
  });

  it('reads an attachment list with long ids and tag', () => {
    const tail = `${nulPaddedHex('N1', 32)} 00 01 01 61 00000010`;
    const hex = `${nulPaddedHex('T', 30)} ${nulPaddedHex('T', 30)} ${timeHex} 01 02 0000 ${tail}`;
    const body = decode(jt.alarmAttachmentInfo, hex);
    expect(body).toMatchObject({ terminalId: 'T', tag: { terminalId: 'T', seq: 1 }, files: [{ name: 'a', size: 16 }] });
    expect(jt.encodeBody(jt.alarmAttachmentInfo, body as never).toString('hex')).toBe(hex.replaceAll(' ', ''));
  });

  it.each([
    [7, ''],
    [7, 'aa'],
    [30, ''],
    [30, 'aa'],
    [30, 'aabb'],
  ])(
    'reads an attachment list with an id of %d bytes and tag reserve "%s" whose names also parse at a wrong offset',
    (idLength, reserved) => {
      const names = [
        `00_65_6502_0_${'0123456789abcdef'.repeat(2)}.jpg`,
        `11_65_6502_1_${'0123456789abcdef'.repeat(2)}.wav`,
      ];
      const files = names.map((name) => `31 ${textHex(name)} 00000010`).join('');
      const hex = `${nulPaddedHex('T', idLength)} ${nulPaddedHex('T', 30)} ${timeHex} 01 02 ${reserved} ${nulPaddedHex('N1', 32)} 00 02 ${files}`;
      const body = decode(jt.alarmAttachmentInfo, hex);
      expect(body).toMatchObject({ terminalId: 'T', alarmNo: 'N1', files: names.map((name) => ({ name, size: 16 })) });
      expect(jt.encodeBody(jt.alarmAttachmentInfo, body as never).toString('hex')).toBe(hex.replaceAll(' ', ''));
    },
  );

  it('reads 2019 attributes after a short header, and 2013 attributes after a long one', () => {
    const ends = '89860012345678901234 01 48 01 46 03 20';
    const wide = `0001 ${textHex('MAKER')} ${nulPaddedHex('M', 30)} ${nulPaddedHex('I', 30)} ${ends}`;
    const narrow = `0001 ${textHex('MAKER')} ${nulPaddedHex('M', 20)} ${nulPaddedHex('I', 7)} ${ends}`;
    const values = { terminalModel: 'M', terminalId: 'I', hardwareVersion: 'H', firmwareVersion: 'F' };
    for (const hex of [wide, narrow]) {
      expect(decode(jt.queryAttributesResponse, hex, '2013')).toMatchObject(values);
      expect(decode(jt.queryAttributesResponse, hex, '2019')).toMatchObject(values);
    }
  });

  it('reads areas inside 0x0608', () => {
    const data = '01 01 00000005 0000 01e0a6e0 073a20d0 000001f4 0001 41'.repeat(2);
    const body = decode(jt.queryAreasResponse, `01 00000002 ${data}`, '2019') as { queryType: number; data: Buffer };
    expect(jt.decodeQueriedAreas(body)).toMatchObject([{ areas: [{ areaId: 5, name: 'A' }] }, { setAttribute: 1 }]);
    expect(jt.decodeQueriedAreas({ queryType: 9, data: Buffer.alloc(0) })).toBeUndefined();
    expect(jt.decodeQueriedAreas({ queryType: 1, data: Buffer.from([1, 9, 0]) })).toBeUndefined();
  });
});

describe('errors of decodeBody and encodeBody', () => {
  it('decodeBody names the field where a truncated body ends', () => {
    expect(() => jt.decodeBody(jt.queryResourceList, Buffer.from('0126', 'hex'))).toThrow(/startTime/);
    expect(() => jt.decodeBody(jt.setPhoneBook, Buffer.from('0102010131', 'hex'))).toThrow(/contacts.0.name/);
    const cut = jt.tryDecodeBody(jt.locationReport, Buffer.alloc(20));
    expect(cut.ok ? '' : cut.error.path).toBe('directionDeg');
  });

  it('encodeBody names the field whose value does not fit', () => {
    expect(() => jt.encodeBody(jt.textMessage, { flags: 256, text: '' })).toThrow(/flags/);
    expect(() => jt.encodeBody(jt.textMessage, { flags: 0, text: 'halt 😀' })).toThrow(/text.*😀/);
    expect(() => jt.encodeBody(jt.registrationResponse, { replySerial: 1, result: 0 })).toThrow(/authCode/);
    expect(() => jt.encodeBody(jt.liveStreamRequest, {} as never)).toThrow(/serverIp/);
    expect(() => jt.joinControlParameters(['a;b'])).toThrow(/;/);
  });
});

describe('registry', () => {
  it('contains every message once by id and name, with its sender', () => {
    const ids = jt.allMessages.map((definition) => definition.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(jt.allMessages.map(({ name }) => name)).size).toBe(ids.length);
    for (const definition of jt.allMessages) {
      expect(jt.messageById(definition.id, definition.from)).toBe(definition);
      expect(jt.getSender(definition.id)).toBe(definition.from);
      for (const response of definition.responseIds ?? []) expect(jt.messageById(response)).toBeDefined();
    }
    expect(jt.messageById(0x0200, 'platform')).toBeUndefined();
    expect([0x0fff, 0xe001, 0xf001].map(jt.getSender)).toEqual(['terminal', 'terminal', 'platform']);
  });

  it('preserves the bytes of an unknown message', () => {
    const body = Buffer.from('017e7d02', 'hex');
    const wires = jt.encodeRawMessage(0x0f01, body, { edition: '2013', phone: '1', serial: 1 });
    const seen: string[] = [];
    new jt.FrameSplitter().push(elementAt(wires, 0), (frame) => seen.push(JSON.stringify(jt.formatFrame(frame))));
    expect(JSON.parse(elementAt(seen, 0))).toMatchObject({ message_id: '0x0F01', body: { raw_hex: '017E7D02' } });
  });
});
