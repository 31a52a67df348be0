import {
  cameraTime,
  countedList,
  countOf,
  inEditions,
  listToEnd,
  mediaData,
  optionalTail,
  struct,
  u8,
  u16,
  u32,
  whenField,
} from '../fields/index.ts';
import { countPresent, packageCount, retransmitIds } from '../fields/lists.ts';
import { locationBase } from '../fields/location.ts';
import { mediaLocation } from '../fields/media-location.ts';
import { defineMessage } from '../message.ts';

const mediaHeader = {
  multimediaId: u32(),
  type: u8(), //      0 image, 1 audio, 2 video
  format: u8(), //    0 JPEG, 1 TIF, 2 MP3, 3 WAV, 4 WMV
  eventCode: u8(), // 0 command, 1 timer, 2 robbery, 3 collision, 4 door open, 5 door close, 6 closed at speed, 7 distance
  channel: u8(),
};

/** 0x0800: multimedia event. */
export const multimediaEvent = defineMessage({
  id: 0x0800,
  name: 'multimediaEvent',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 80',
  responseIds: [0x8001],
  body: mediaHeader,
});

/**
 * 0x0801: multimedia data, in parts. Each part but the last is acknowledged with 0x8001, the last with one 0x8800. Only
 * part 1 contains the head.
 */
export const multimediaData = defineMessage({
  id: 0x0801,
  name: 'multimediaData',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 81',
  responseIds: [0x8800, 0x8001],
  body: {
    ...mediaHeader,
    totalParts: inEditions(['2011'], u32()),
    partId: inEditions(['2011'], u32()),
    location: mediaLocation(), // absent in 2011 and on some older units
    data: mediaData(),
  },
});

/** 0x8800: response to 0x0801. Only the id if complete, otherwise the missing parts (at most 125). */
export const multimediaUploadResponse = defineMessage({
  id: 0x8800,
  name: 'multimediaUploadResponse',
  from: 'platform',
  reference: 'JT/T 808-2013 table 82',
  body: {
    replySerial: inEditions(['2011'], u16()),
    multimediaId: u32(),
    countPresent: countPresent(),
    retransmitIds: retransmitIds(),
  },
});

/** 0x8801: take pictures or record video now. */
export const cameraShoot = defineMessage({
  id: 0x8801,
  name: 'cameraShoot',
  from: 'platform',
  reference: 'JT/T 808-2013 table 83',
  responseIds: [0x0805, 0x0001],
  body: {
    channel: u8(), //    above 0; T/JSATL 12: 0x00-0x25 host, 0x64 ADAS, 0x65 DSM
    command: u16(), // 0 stop, 0xFFFF video, else number of photos
    intervalS: u16(), // between photos, or length of the video; 0 = fastest, or endless
    saveFlag: u8(), //   1 store, 0 upload at once
    resolution: u8(), // 1 320x240, 2 640x480, 3 800x600, 4 1024x768, 5 QCIF, 6 CIF, 7 704x288, 8 D1; 2019: 0 lowest, 0xFF highest
    quality: u8(), //    1 best .. 10 smallest
    brightness: u8(),
    contrast: u8(), //   0-127
    saturation: u8(), // 0-127
    chroma: u8(),
  },
});

/** 0x0805: response to 0x8801. Ids follow only if the result is 0, and some units list none even then. */
export const cameraShootResponse = defineMessage({
  id: 0x0805,
  name: 'cameraShootResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 84',
  editions: ['2013', '2019'],
  body: {
    replySerial: u16(),
    result: u8(), // 0 success, 1 failure, 2 channel not supported
    multimediaIds: whenField('result', (result) => result === 0, optionalTail(countedList(u16(), u32()), 2)),
  },
});

const searchFields = {
  type: u8(), //     0 image, 1 audio, 2 video
  channel: u8(), //  0 = all
  eventCode: u8(),
  startTime: cameraTime(), // null = any
  endTime: cameraTime(),
};

/** 0x8802: search stored multimedia. */
export const multimediaSearch = defineMessage({
  id: 0x8802,
  name: 'multimediaSearch',
  from: 'platform',
  reference: 'JT/T 808-2013 table 85',
  responseIds: [0x0802],
  body: searchFields,
});

/** 0x0802: stored multimedia. 2011 lists no ids. */
export const multimediaSearchResponse = defineMessage({
  id: 0x0802,
  name: 'multimediaSearchResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 tables 86 and 87',
  body: {
    replySerial: u16(),
    count: countOf('items', u16()),
    packageCount: packageCount('items', u16()),
    items: listToEnd(
      struct({
        multimediaId: inEditions(['2013', '2019'], u32()),
        type: u8(),
        channel: u8(),
        eventCode: u8(),
        location: struct(locationBase),
      }),
    ),
  },
});

/** 0x8803: upload stored multimedia. */
export const multimediaUploadRequest = defineMessage({
  id: 0x8803,
  name: 'multimediaUploadRequest',
  from: 'platform',
  reference: 'JT/T 808-2013 table 88',
  responseIds: [0x0001],
  body: { ...searchFields, deleteFlag: u8() },
});

/** 0x8804: record audio. */
export const audioRecording = defineMessage({
  id: 0x8804,
  name: 'audioRecording',
  from: 'platform',
  reference: 'JT/T 808-2013 table 89',
  responseIds: [0x0001],
  body: {
    command: u8(),
    durationS: u16(), // 0 = endless
    saveFlag: u8(),
    sampleRate: u8(), // 0 8k, 1 11k, 2 23k, 3 32k
  },
});

/** 0x8805: upload one stored item. */
export const singleMultimediaUpload = defineMessage({
  id: 0x8805,
  name: 'singleMultimediaUpload',
  from: 'platform',
  reference: 'JT/T 808-2013 table 90',
  editions: ['2013', '2019'],
  responseIds: [0x0001],
  body: { multimediaId: u32(), deleteFlag: u8() },
});
