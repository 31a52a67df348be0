import { describe, expect, it } from '@jest/globals';
import * as jt from './index.ts';
import { describeBody } from './message.ts';

const time = '2026-08-01T10:00:00';
const TIME = '260801100000';
const text = (value: string): string => Buffer.from(value).toString('hex');
const nul = (value: string, size: number): string => text(value).padEnd(size * 2, '0');

const location = {
  alarm: 0x0010_0001,
  status: 0x0004_0003,
  latitudeDeg: 31.5,
  longitudeDeg: 121.25,
  altitudeM: 18,
  speedKmh: 60.5,
  directionDeg: 90,
  time,
  extras: [],
};
const LOCATION = `00100001 00040003 01e0a6e0 073a20d0 0012 025d 005a ${TIME}`;
const tag = {
  terminalId: 'T000001',
  time,
  seq: 1,
  attachmentCount: 2,
  reserved: Buffer.from([0]),
  terminalIdLength: 7 as const,
};
const TAG = `${text('T000001')}${TIME}010200`;

type Golden = [
  name: string,
  definition: jt.MessageDefinition,
  edition: jt.Edition,
  body: Record<string, unknown>,
  hex: string,
];

const golden: Golden[] = [
  [
    'a terminal answers',
    jt.terminalGeneralResponse,
    '2013',
    { replySerial: 0x102, replyId: 0x9101, result: 3 },
    '0102 9101 03',
  ],
  [
    'the platform confirms an alarm',
    jt.platformGeneralResponse,
    '2019',
    { replySerial: 1, replyId: 0x200, result: 4 },
    '0001 0200 04',
  ],
  [
    'retransmission, count in a byte',
    jt.platformRetransmitRequest,
    '2013',
    { originalSerial: 300, packageIds: [2, 4] },
    '012c 02 0002 0004',
  ],
  [
    'retransmission, count in a word',
    jt.platformRetransmitRequest,
    '2019',
    { originalSerial: 300, packageIds: [2, 4] },
    '012c 0002 0002 0004',
  ],
  ['the time in UTC', jt.serverTimeResponse, '2019', { timeUtc: time }, TIME],
  [
    'registration 2011',
    jt.terminalRegistration,
    '2011',
    {
      provinceId: 31,
      cityId: 115,
      manufacturerId: 'MAKER',
      terminalModel: 'MODEL-1 ',
      terminalId: 'ID00001',
      plateColor: 1,
      plateNo: '京A12345',
    },
    `001f 0073 ${text('MAKER')} ${text('MODEL-1 ')} ${text('ID00001')} 01 bea9413132333435`,
  ],
  [
    'registration 2013',
    jt.terminalRegistration,
    '2013',
    {
      provinceId: 31,
      cityId: 115,
      manufacturerId: 'MAKER',
      terminalModel: 'MODEL-1',
      terminalId: 'ID00001',
      plateColor: 2,
      plateNo: '京A12345',
    },
    `001f 0073 ${text('MAKER')} ${nul('MODEL-1', 20)} ${text('ID00001')} 02 bea9413132333435`,
  ],
  [
    'registration 2019, model filled in front',
    jt.terminalRegistration,
    '2019',
    {
      provinceId: 31,
      cityId: 115,
      manufacturerId: '31011500001',
      terminalModel: 'MODEL-1',
      terminalId: 'ID00001',
      plateColor: 5,
      plateNo: '京AD12345',
    },
    `001f 0073 ${text('31011500001')} ${text('MODEL-1').padStart(60, '0')} ${nul('ID00001', 30)} 05 bea944413132333435`.replace(
      'bea94441',
      'bea94144',
    ),
  ],
  [
    'registered',
    jt.registrationResponse,
    '2013',
    { replySerial: 7, result: 0, authCode: 'code' },
    `0007 00 ${text('code')}`,
  ],
  ['not registered', jt.registrationResponse, '2013', { replySerial: 7, result: 4 }, '0007 04'],
  ['authentication 2013', jt.terminalAuthentication, '2013', { authCode: 'code' }, text('code')],
  [
    'authentication 2019',
    jt.terminalAuthentication,
    '2019',
    { authCode: 'code', imei: '868935060005020', softwareVersion: 'V1.2' },
    `04 ${text('code')} ${text('868935060005020')} ${nul('V1.2', 20)}`,
  ],
  [
    'parameters 2013',
    jt.setParameters,
    '2013',
    { count: 1, params: [jt.makeParameter(1, 30)] },
    '01 00000001 04 0000001e',
  ],
  [
    'parameters 2011',
    jt.setParameters,
    '2011',
    { count: 1, packageCount: 1, params: [jt.makeParameter(0x83, '京A')] },
    '01 01 00000083 03 bea941',
  ],
  ['a query of some parameters', jt.queryParametersByIds, '2019', { paramIds: [1, 0xf364] }, '02 00000001 0000f364'],
  ['a reset', jt.terminalControl, '2013', { command: jt.TerminalControlCommand.reset, parameters: '' }, '04'],
  [
    'another server',
    jt.terminalControl,
    '2019',
    { command: 2, parameters: jt.joinControlParameters([0, 'code', 'apn', null, null, 'host', 7808, 0, 60]) },
    `02 ${text('0;code;apn;;;host;7808;0;60')}`,
  ],
  [
    'attributes 2019 with a short maker',
    jt.queryAttributesResponse,
    '2019',
    {
      terminalType: 1,
      manufacturerIdLength: 5,
      manufacturerId: 'MAKER',
      terminalModel: 'M',
      terminalId: 'I',
      iccid: '8986001234567890123F',
      hardwareVersion: 'H',
      firmwareVersion: 'FW',
      gnssAttributes: 3,
      communicationAttributes: 32,
    },
    `0001 ${text('MAKER')} ${nul('M', 30)} ${nul('I', 30)} 8986001234567890123f 01 48 02 4657 03 20`,
  ],
  [
    'attributes 2019 with a long maker',
    jt.queryAttributesResponse,
    '2019',
    {
      terminalType: 1,
      manufacturerIdLength: 11,
      manufacturerId: '31011500001',
      terminalModel: 'M',
      terminalId: 'I',
      iccid: '89860012345678901234',
      hardwareVersion: '',
      firmwareVersion: '',
      gnssAttributes: 3,
      communicationAttributes: 32,
    },
    `0001 ${text('31011500001')} ${nul('M', 30)} ${nul('I', 30)} 89860012345678901234 00 00 03 20`,
  ],
  [
    'an upgrade',
    jt.upgradePackage,
    '2013',
    {
      upgradeType: 52,
      manufacturerIdLength: 5,
      manufacturerId: 'MAKER',
      version: 'V2',
      dataLength: 3,
      data: Buffer.from([1, 2, 3]),
    },
    `34 ${text('MAKER')} 02 5632 00000003 010203`,
  ],
  ['a location in the north-east', jt.locationReport, '2013', location, LOCATION],
  [
    'a location in the south-west, below the sea',
    jt.locationReport,
    '2013',
    { ...location, status: 0x0c, latitudeDeg: -31.5, longitudeDeg: -121.25, altitudeM: -2 },
    `00100001 0000000c 01e0a6e0 073a20d0 fffe 025d 005a ${TIME}`,
  ],
  [
    'a negative latitude without its status bit',
    jt.locationReport,
    '2013',
    { ...location, latitudeDeg: -31.5 },
    LOCATION.replace('01e0a6e0', 'fe1f5920'),
  ],
  [
    'items and what is behind them',
    jt.locationReport,
    '2019',
    {
      ...location,
      extras: [
        jt.makeExtra(jt.extraDefinitions.mileage, { mileageKm: 1234.5 }),
        { id: 0xeb, bytes: Buffer.from('0001', 'hex') },
      ],
      extrasTrailing: Buffer.from('0109', 'hex'),
    },
    `${LOCATION} 01 04 00003039 eb 02 0001 0109`,
  ],
  ['a location on request 2011', jt.queryLocationResponse, '2011', location, LOCATION],
  ['a location on request 2013', jt.queryLocationResponse, '2013', { replySerial: 9, ...location }, `0009 ${LOCATION}`],
  ['no more tracking', jt.trackControl, '2013', { intervalS: 0 }, '0000'],
  [
    'a batch',
    jt.locationBatch,
    '2013',
    { count: 2, locationType: 1, items: [location, { ...location, extras: [{ id: 0x30, bytes: Buffer.from([9]) }] }] },
    `0002 01 001c ${LOCATION} 001f ${LOCATION} 30 01 09`,
  ],
  ['doors 2013', jt.vehicleControl, '2013', { controlFlags: 1 }, '01'],
  ['doors 2019', jt.vehicleControl, '2019', { items: [{ id: 1, parameter: Buffer.from([0]) }] }, '0001 0001 00'],
  ['a text 2013', jt.textMessage, '2013', { flags: 0x0d, text: '停车' }, '0d cda3b3b5'],
  ['a text 2019', jt.textMessage, '2019', { flags: 0x0e, textType: 1, text: '停车' }, '0e 01 cda3b3b5'],
  ['events 2013', jt.setEvents, '2013', { setType: 1, events: [{ id: 1, content: 'ok' }] }, '01 01 01 02 6f6b'],
  ['events 2011', jt.setEvents, '2011', { setType: 1, events: [{ id: 1, content: 'ok' }] }, '01 01 01 01 02 6f6b'],
  ['no events', jt.setEvents, '2013', { setType: 0, events: [] }, '00'],
  [
    'a question',
    jt.askQuestion,
    '2013',
    { flags: 8, question: 'ok?', answers: [{ id: 1, content: 'y' }] },
    '08 03 6f6b3f 01 0001 79',
  ],
  ['information 2011', jt.infoService, '2011', { infoType: 1, totalLength: 2, content: 'ok' }, '01 0002 0002 6f6b'],
  [
    'a circle 2013',
    jt.setCircleAreas,
    '2013',
    {
      setAttribute: 1,
      areas: [
        {
          areaId: 5,
          attributes: 0x3e,
          centerLatitudeDeg: 31.5,
          centerLongitudeDeg: 121.25,
          radiusM: 500,
          maxSpeedKmh: 60,
          overspeedDurationS: 10,
        },
      ],
    },
    '01 01 00000005 003e 01e0a6e0 073a20d0 000001f4 003c 0a',
  ],
  [
    'a polygon 2019 by day',
    jt.setPolygonArea,
    '2019',
    {
      areaId: 6,
      attributes: 3,
      startTime: { bcd: '000000080000' },
      endTime: { bcd: '000000180000' },
      maxSpeedKmh: 60,
      overspeedDurationS: 10,
      vertices: [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      nightMaxSpeedKmh: 40,
      name: 'A',
    },
    '00000006 0003 000000080000 000000180000 003c 0a 0003 000f4240 001e8480 002dc6c0 003d0900 004c4b40 005b8d80 0028 0001 41',
  ],
  [
    'a polygon 2011',
    jt.setPolygonArea,
    '2011',
    { areaId: 6, attributes: 0, vertices: [[1, 2]] },
    '00000006 0000 0001 01 000f4240 001e8480',
  ],
  [
    'a route',
    jt.setRoute,
    '2013',
    {
      routeId: 1,
      attributes: 0,
      points: [
        {
          pointId: 1,
          segmentId: 2,
          latitudeDeg: 1,
          longitudeDeg: 2,
          widthM: 20,
          attributes: 3,
          maxTravelTimeS: 600,
          minTravelTimeS: 60,
          maxSpeedKmh: 50,
          overspeedDurationS: 5,
        },
      ],
    },
    '00000001 0000 0001 00000001 00000002 000f4240 001e8480 14 03 0258 003c 0032 05',
  ],
  ['every circle deleted', jt.deleteCircleAreas, '2013', { ids: [] }, '00'],
  [
    'a card put in',
    jt.driverReport,
    '2013',
    {
      status: 1,
      time,
      cardReadResult: 0,
      driverName: '张三',
      certificateNo: '123',
      issuer: 'X',
      validUntil: '2034-04-09',
    },
    `01 ${TIME} 00 04 d5c5c8fd ${nul('123', 20)} 01 58 20340409`,
  ],
  ['a card taken out', jt.driverReport, '2013', { status: 2, time }, `02 ${TIME}`],
  [
    'a driver 2011',
    jt.driverReport,
    '2011',
    { driverName: '张三', idCardNo: '1', certificateNo: '2', issuer: 'X' },
    `04 d5c5c8fd ${nul('1', 20)} ${nul('2', 40)} 01 58`,
  ],
  [
    'a CAN frame',
    jt.canData,
    '2013',
    {
      count: 1,
      receiveTime: '10:11:12.0345',
      items: [
        {
          canId: 0x18fe,
          canChannel: 1,
          extendedFrame: true,
          averaged: false,
          data: Buffer.from('0102030405060708', 'hex'),
        },
      ],
    },
    '0001 1011120345 c00018fe 0102030405060708',
  ],
  [
    'a photo',
    jt.multimediaData,
    '2013',
    {
      multimediaId: 1,
      type: 0,
      format: 0,
      eventCode: 0,
      channel: 1,
      location: { ...location, extras: undefined },
      data: Buffer.from('ffd8', 'hex'),
    },
    `00000001 00 00 00 01 ${LOCATION} ffd8`,
  ],
  [
    'a photo 2011',
    jt.multimediaData,
    '2011',
    {
      multimediaId: 1,
      type: 0,
      format: 0,
      eventCode: 0,
      channel: 1,
      totalParts: 2,
      partId: 1,
      data: Buffer.from('ffd8', 'hex'),
    },
    '00000001 00 00 00 01 00000002 00000001 ffd8',
  ],
  ['a photo received', jt.multimediaUploadResponse, '2013', { multimediaId: 1, retransmitIds: [] }, '00000001'],
  [
    'a photo in part',
    jt.multimediaUploadResponse,
    '2013',
    { multimediaId: 1, countPresent: true, retransmitIds: [3] },
    '00000001 01 0003',
  ],
  ['a photo refused', jt.cameraShootResponse, '2013', { replySerial: 5, result: 2 }, '0005 02'],
  [
    'a live stream',
    jt.liveStreamRequest,
    '2013',
    { serverIp: '127.0.0.1', tcpPort: 7078, udpPort: 0, channel: 1, dataType: 0, streamType: 1 },
    `09 ${text('127.0.0.1')} 1ba6 0000 01 00 01`,
  ],
  [
    'a live stream stopped',
    jt.liveStreamControl,
    '2013',
    { channel: 1, control: 0, closeType: 0, streamType: 0 },
    '01 00 00 00',
  ],
  [
    'one hour of channel 1',
    jt.queryResourceList,
    '2013',
    {
      channel: 1,
      startTime: time,
      endTime: '2026-08-01T11:00:00',
      alarmFlags: 0n,
      mediaType: 3,
      streamType: 0,
      storageType: 0,
    },
    `01 ${TIME} 260801110000 0000000000000000 03 00 00`,
  ],
  [
    'an open search by alarm',
    jt.queryResourceList,
    '2019',
    {
      channel: 0,
      startTime: null,
      endTime: null,
      alarmFlags: 0x8000_0000_0000_0001n,
      mediaType: 0,
      streamType: 1,
      storageType: 2,
    },
    '00 000000000000 000000000000 8000000000000001 00 01 02',
  ],
  [
    'a recording',
    jt.resourceList,
    '2013',
    {
      replySerial: 9,
      total: 1,
      items: [
        {
          channel: 2,
          startTime: time,
          endTime: time,
          alarmFlags: 1n,
          mediaType: 2,
          streamType: 1,
          storageType: 1,
          fileSize: 65_536,
        },
      ],
    },
    `0009 00000001 02 ${TIME} ${TIME} 0000000000000001 02 01 01 00010000`,
  ],
  ['no recording', jt.resourceList, '2013', { replySerial: 9, total: 0, items: [] }, '0009 00000000'],
  [
    'a playback',
    jt.playbackRequest,
    '2019',
    {
      serverIp: 'h',
      tcpPort: 7079,
      udpPort: 7079,
      channel: 1,
      mediaType: 0,
      streamType: 0,
      storageType: 1,
      playbackMode: 1,
      speed: 3,
      startTime: time,
      endTime: null,
    },
    `01 68 1ba7 1ba7 01 00 00 01 01 03 ${TIME} 000000000000`,
  ],
  ['a seek', jt.playbackControl, '2019', { channel: 1, control: 5, speed: 0, seekTime: time }, `01 05 00 ${TIME}`],
  [
    'an upload',
    jt.fileUploadRequest,
    '2013',
    {
      server: 'h',
      port: 2121,
      username: 'u',
      password: 'p',
      path: '/a',
      channel: 1,
      startTime: time,
      endTime: time,
      alarmFlags: 0n,
      mediaType: 0,
      streamType: 1,
      storageType: 1,
      conditions: 7,
    },
    `01 68 0849 01 75 01 70 02 2f61 01 ${TIME} ${TIME} 0000000000000000 00 01 01 07`,
  ],
  ['an upload cancelled', jt.fileUploadControl, '2013', { replySerial: 0x1234, control: 2 }, '1234 02'],
  ['the camera turned', jt.ptzRotate, '2013', { channel: 1, direction: 3, speed: 255 }, '01 03 ff'],
  [
    'attachments asked for',
    jt.alarmAttachmentUpload,
    '2013',
    { serverIp: 'h', tcpPort: 7081, udpPort: 0, tag, alarmNo: 'N1', reserved: Buffer.alloc(16) },
    `01 68 1ba9 0000 ${TAG} ${nul('N1', 32)} ${'00'.repeat(16)}`,
  ],
  [
    'attachments listed',
    jt.alarmAttachmentInfo,
    '2013',
    {
      terminalIdLength: 7,
      terminalId: 'T000001',
      tag,
      alarmNo: 'N1',
      infoType: 0,
      files: [{ name: 'a.jpg', size: 10 }],
    },
    `${text('T000001')} ${TAG} ${nul('N1', 32)} 00 01 05 ${text('a.jpg')} 0000000a`,
  ],
  [
    'an attachment in part',
    jt.attachmentFileDoneResponse,
    '2013',
    { name: 'a', type: 0, result: 1, retransmit: [{ offset: 16, length: 8 }] },
    '01 61 00 01 01 00000010 00000008',
  ],
  ['an RSA key', jt.platformRsaKey, '2013', { e: 65_537, n: Buffer.alloc(128, 0xab) }, `00010001 ${'ab'.repeat(128)}`],
  [
    'passthrough 2011',
    jt.uplinkPassthrough,
    '2011',
    { type: 0xf0, totalLength: 2, length: 2, data: Buffer.from('0102', 'hex') },
    'f0 00000002 0002 0102',
  ],
];

describe('golden bodies', () => {
  it.each(golden)('%s: encodes to the bytes and back', (_name, definition, edition, body, hex) => {
    const bytes = hex.replaceAll(' ', '').toLowerCase();
    expect(jt.encodeBody(definition, body, edition).toString('hex')).toBe(bytes);
    expect(jt.decodeBody(definition, Buffer.from(bytes, 'hex'), edition)).toEqual(body);
  });
});

describe('golden frames', () => {
  it.each([
    [
      'heartbeat 2013',
      jt.terminalHeartbeat,
      {},
      { edition: '2013' as const, phone: '013912345678', serial: 1 },
      '7e000200000139123456780001337e',
    ],
    [
      'answer 2019',
      jt.platformGeneralResponse,
      { replySerial: 0x102, replyId: 0x200, result: 0 },
      { edition: '2019' as const, phone: '13912345678', serial: 10 },
      '7e80014005010000000001391234567800 0a0102020000fe7e'.replace(' ', ''),
    ],
  ])('%s', (_name, definition, body, header, hex) => {
    expect(jt.encodeMessage(definition, body as never, header).map((frame) => frame.toString('hex'))).toEqual([hex]);
  });
});

describe('leniency of the reference', () => {
  const decode = (
    definition: jt.MessageDefinition,
    hex: string,
    edition: jt.Edition = '2013',
  ): Record<string, unknown> => jt.decodeBody(definition, Buffer.from(hex.replaceAll(' ', ''), 'hex'), edition);

  it('keeps bytes behind the last field, and sends them again', () => {
    const body = decode(jt.terminalGeneralResponse, '0001 8103 00 aabb');
    expect(body).toMatchObject({ result: 0, trailing: Buffer.from('aabb', 'hex') });
    expect(jt.encodeBody(jt.terminalGeneralResponse, body as never).toString('hex')).toBe('0001810300aabb');
    expect(describeBody(jt.terminalHeartbeat, decode(jt.terminalHeartbeat, '5d10'))).toEqual({ vendor_hex: '5D10' });
  });

  it('reads a short registration as 2011 whatever header it came with', () => {
    const hex = `0000 0000 ${'00'.repeat(13)} 30303030303031 00`;
    for (const edition of ['2013', '2019'] as const) {
      expect(decode(jt.terminalRegistration, hex, edition)).toMatchObject({ terminalId: '0000001', plateNo: '' });
    }
  });

  it('reads a bare code in a 2019 authentication', () => {
    expect(decode(jt.terminalAuthentication, text('code-of-2013'), '2019')).toEqual({ authCode: 'code-of-2013' });
  });

  it('reads strings of 2011 with their NUL', () => {
    expect(decode(jt.registrationResponse, `0001 00 ${text('code')} 00`, '2011')).toMatchObject({ authCode: 'code' });
  });

  it('finds the second count of 2011 in parameters of a terminal that is taken for 2013', () => {
    const body = decode(jt.queryParametersResponse, '0001 02 02 00000001 04 0000001e 00000013 01 68');
    expect(body).toMatchObject({ count: 2, packageCount: 2, params: [{ id: 1 }, { id: 0x13 }] });
  });

  it('reads parameters to the end whatever the count says, by their own lengths', () => {
    const body = decode(jt.queryParametersResponse, '0001 09 00000090 04 00000003');
    expect(describeBody(jt.queryParametersResponse, body as never)).toEqual({
      reply_serial: 1,
      count: 9,
      count_mismatch: true,
      params: [{ id: '0x0090', length: 4, hex: '00000003', value: 3 }],
    });
  });

  it('passes over a broken item of a batch', () => {
    const body = decode(jt.locationBatch, `0003 00 0002 ffff 001c ${LOCATION} 0004 00000000`);
    expect(body).toMatchObject({ count: 3, items: [{ speedKmh: 60.5 }] });
  });

  it('keeps the base of a location whose item overruns, and knows no item by its id alone', () => {
    const body = decode(jt.locationReport, `${LOCATION} 64 04 00000001 65 01 00 01 08 00`);
    const described = describeBody(jt.locationReport, body as never);
    expect(described['extras']).toEqual([
      { id: '0x64', length: 4, hex: '00000001' },
      { id: '0x65', length: 1, hex: '00' },
    ]);
    expect(described['extras_trailing_hex']).toBe('010800');
  });

  it('reads the uncounted 0x8500, the byte-counted 0x8003 of 2019 and the empty clearing lists', () => {
    expect(decode(jt.vehicleControl, '0001 01', '2019')).toMatchObject({ items: [{ id: 1 }] });
    expect(decode(jt.platformRetransmitRequest, '0001 01 0003', '2019')).toMatchObject({ packageIds: [3] });
    expect(decode(jt.setPhoneBook, '00')).toEqual({ setType: 0, contacts: [] });
  });

  it('sees that an older unit sends no location with its photo', () => {
    const body = decode(jt.multimediaData, `00000001 00 00 00 01 ffd8 ${'11'.repeat(40)}`);
    expect(body).not.toHaveProperty('location');
    expect(decode(jt.multimediaData, '00000001 00 00 00 01 ffd8')).toMatchObject({ data: Buffer.from('ffd8', 'hex') });
  });

  it('reads long alarm tags by what is left', () => {
    const long = (reserved: string): string => `${nul('T', 30)} ${TIME} 01 02 ${reserved}`;
    for (const [reserved, size] of [
      ['', 0],
      ['aa', 1],
      ['aabb', 2],
    ] as const) {
      const hex = `01 68 0001 0000 ${long(reserved)} ${nul('N1', 32)} ${'00'.repeat(16)}`;
      const body = decode(jt.alarmAttachmentUpload, hex);
      expect(body).toMatchObject({
        tag: { terminalId: 'T', reserved: Buffer.alloc(size, Buffer.from(reserved, 'hex')) },
      });
      expect(jt.encodeBody(jt.alarmAttachmentUpload, body as never).toString('hex')).toBe(hex.replaceAll(' ', ''));
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

describe('errors', () => {
  it('name the field where a cut body ends', () => {
    expect(() => jt.decodeBody(jt.queryResourceList, Buffer.from('0126', 'hex'))).toThrow(/startTime/);
    expect(() => jt.decodeBody(jt.setPhoneBook, Buffer.from('0102010131', 'hex'))).toThrow(/contacts.0.name/);
    const cut = jt.tryDecodeBody(jt.locationReport, Buffer.alloc(20));
    expect(cut.ok ? '' : cut.error.path).toBe('directionDeg');
  });

  it('name the field whose value does not fit', () => {
    expect(() => jt.encodeBody(jt.textMessage, { flags: 256, text: '' })).toThrow(/flags/);
    expect(() => jt.encodeBody(jt.textMessage, { flags: 0, text: 'halt 😀' })).toThrow(/text.*😀/);
    expect(() => jt.encodeBody(jt.registrationResponse, { replySerial: 1, result: 0 })).toThrow(/authCode/);
    expect(() => jt.encodeBody(jt.liveStreamRequest, {} as never)).toThrow(/serverIp/);
    expect(() => jt.joinControlParameters(['a;b'])).toThrow(/;/);
  });
});

describe('registry', () => {
  it('knows every message by id and name, once, from the side that sends it', () => {
    const ids = jt.allMessages.map((definition) => definition.id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const definition of jt.allMessages) {
      expect(jt.messageById(definition.id, definition.from)).toBe(definition);
      expect(jt.messageByName(definition.name)).toBe(definition);
      expect(jt.senderOf(definition.id)).toBe(definition.from);
      for (const answer of definition.answeredBy ?? []) expect(jt.messageById(answer)).toBeDefined();
    }
    expect(jt.messageById(0x0200, 'platform')).toBeUndefined();
    expect([0x0fff, 0xe001, 0xf001].map(jt.senderOf)).toEqual(['terminal', 'terminal', 'platform']);
  });

  it('sends an unknown message on as it came', () => {
    const body = Buffer.from('017e7d02', 'hex');
    const [wire] = jt.encodeRawMessage(0x0f01, body, { edition: '2013', phone: '1', serial: 1 });
    const seen: string[] = [];
    new jt.FrameSplitter().push(wire as Buffer, (frame) => seen.push(JSON.stringify(jt.describeFrame(frame))));
    expect(JSON.parse(seen[0] as string)).toMatchObject({ message_id: '0x0F01', body: { raw_hex: '017E7D02' } });
  });
});
