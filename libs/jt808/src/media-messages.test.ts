import { describe, expect, it } from '@jest/globals';
import * as jt from './index.ts';
import {
  type GoldenRow,
  location,
  locationHex,
  nulPaddedHex,
  roundTrip,
  textHex,
  time,
  timeHex,
} from './testing/golden.ts';

const tag = {
  terminalId: 'T000001',
  time,
  seq: 1,
  attachmentCount: 2,
  reserved: Buffer.from([0]),
  terminalIdLength: 7 as const,
};
const tagHex = `${textHex('T000001')}${timeHex}010200`;

const golden: GoldenRow[] = [
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
    `00000001 00 00 00 01 ${locationHex} ffd8`,
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
    `09 ${textHex('127.0.0.1')} 1ba6 0000 01 00 01`,
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
    `01 ${timeHex} 260801110000 0000000000000000 03 00 00`,
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
    `0009 00000001 02 ${timeHex} ${timeHex} 0000000000000001 02 01 01 00010000`,
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
    `01 68 1ba7 1ba7 01 00 00 01 01 03 ${timeHex} 000000000000`,
  ],
  ['a seek', jt.playbackControl, '2019', { channel: 1, control: 5, speed: 0, seekTime: time }, `01 05 00 ${timeHex}`],
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
    `01 68 0849 01 75 01 70 02 2f61 01 ${timeHex} ${timeHex} 0000000000000000 00 01 01 07`,
  ],
  ['an upload cancelled', jt.fileUploadControl, '2013', { replySerial: 0x1234, control: 2 }, '1234 02'],
  ['the camera turned', jt.ptzRotate, '2013', { channel: 1, direction: 3, speed: 255 }, '01 03 ff'],
  [
    'attachments asked for',
    jt.alarmAttachmentUpload,
    '2013',
    { serverIp: 'h', tcpPort: 7081, udpPort: 0, tag, alarmNo: 'N1', reserved: Buffer.alloc(16) },
    `01 68 1ba9 0000 ${tagHex} ${nulPaddedHex('N1', 32)} ${'00'.repeat(16)}`,
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
    `${textHex('T000001')} ${tagHex} ${nulPaddedHex('N1', 32)} 00 01 05 ${textHex('a.jpg')} 0000000a`,
  ],
  [
    'an attachment in part',
    jt.attachmentUploadCompleteResponse,
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

describe('golden bodies of media, video and attachments', () => {
  it.each(golden)('%s: encodes to the bytes and back', (_name, definition, edition, body, hex) => {
    const { encoded, bytes, decoded } = roundTrip(definition, edition, body, hex);
    expect(encoded).toBe(bytes);
    expect(decoded).toEqual(body);
  });
});
