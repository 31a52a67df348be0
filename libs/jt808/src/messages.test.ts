import { describe, expect, it } from '@jest/globals';
import * as jt from './index.ts';

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
