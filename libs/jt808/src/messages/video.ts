import { cameraTime, countOf, listToEnd, struct, text8, u8, u16, u32, u64 } from '../fields/index.ts';
import { defineMessage } from '../message.ts';

// JT/T 1078-2016 signalling. Channels are the logical numbers of JT/T 1076-2016 table 2; times are on the terminal's
// own clock. Alarm flags are one big-endian number: bits 0-31 as in 0x0200, bits 32-63 as in additional item 0x14.

/** 0x9003: query the audio and video attributes. */
export const queryAvAttributes = defineMessage({
  id: 0x9003,
  name: 'queryAvAttributes',
  from: 'platform',
  reference: 'JT/T 1078-2016 5.3.2',
  responseIds: [0x1003],
  body: {},
});

/** Sample rates, by the value of `audioSampleRate` in 0x1003. */
export const audioSampleRates: readonly number[] = [8_000, 22_050, 44_100, 48_000];

/** 0x1003: audio and video attributes. Has no reply serial. */
export const avAttributesResponse = defineMessage({
  id: 0x1003,
  name: 'avAttributesResponse',
  from: 'terminal',
  reference: 'JT/T 1078-2016 table 11',
  body: {
    audioCodec: u8(), //       6 G.711A, 7 G.711U, 8 G.726, 19 AAC, 25 MP3, 26 ADPCMA, 28 AMR
    audioChannels: u8(),
    audioSampleRate: u8(), //  0 8k, 1 22.05k, 2 44.1k, 3 48k
    audioBitDepth: u8(), //    0 8, 1 16, 2 32
    audioFrameLength: u16(),
    audioOutput: u8(), //      0 no, 1 yes
    videoCodec: u8(), //       98 H.264, 99 H.265, 100 AVS, 101 SVAC
    maxAudioChannels: u8(),
    maxVideoChannels: u8(),
  },
});

/** 0x1005: passengers who boarded and alighted. */
export const passengerFlow = defineMessage({
  id: 0x1005,
  name: 'passengerFlow',
  from: 'terminal',
  reference: 'JT/T 1078-2016 table 16',
  responseIds: [0x8001],
  body: { startTime: cameraTime(), endTime: cameraTime(), boarding: u16(), alighting: u16() },
});

const mediaServer = {
  serverIp: text8(), // address or host name at which the terminal reaches the server
  tcpPort: u16(), //    0 = not TCP
  udpPort: u16(), //    0 = not UDP
};

/** 0x9101: start of a live stream. */
export const liveStreamRequest = defineMessage({
  id: 0x9101,
  name: 'liveStreamRequest',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 17',
  responseIds: [0x0001],
  body: {
    ...mediaServer,
    channel: u8(),
    dataType: u8(), //   0 AV, 1 video, 2 intercom, 3 listen, 4 broadcast, 5 transparent
    streamType: u8(), // 0 main, 1 sub
  },
});

/** 0x9102: control of a live stream. */
export const liveStreamControl = defineMessage({
  id: 0x9102,
  name: 'liveStreamControl',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 18',
  responseIds: [0x0001],
  body: {
    channel: u8(),
    control: u8(), //    0 stop, 1 switch stream, 2 pause all, 3 resume, 4 end intercom
    closeType: u8(), //  control 0: 0 all, 1 audio only, 2 video only
    streamType: u8(), // control 1: 0 main, 1 sub
  },
});

/** 0x9105: packet loss of a running live stream. */
export const liveStreamStatus = defineMessage({
  id: 0x9105,
  name: 'liveStreamStatus',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 20',
  responseIds: [0x0001],
  body: { channel: u8(), lossRatePercent: u8() },
});

/** 0x9205: query recordings. The response is 0x1205, or 0x0001 if refused. */
export const queryResourceList = defineMessage({
  id: 0x9205,
  name: 'queryResourceList',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 21',
  responseIds: [0x1205, 0x0001],
  body: {
    channel: u8(), //        0 = every channel
    startTime: cameraTime(), // null = no lower bound
    endTime: cameraTime(), //   null = no upper bound
    alarmFlags: u64(), //    0 = any
    mediaType: u8(), //      0 AV, 1 audio, 2 video, 3 video or AV
    streamType: u8(), //     0 any, 1 main, 2 sub
    storageType: u8(), //    0 any, 1 main, 2 backup
  },
});

/**
 * 0x1205: recordings, usually in parts whose boundaries cut items, so join them first. By the text, also a response to
 * 0x9201.
 */
export const resourceList = defineMessage({
  id: 0x1205,
  name: 'resourceList',
  from: 'terminal',
  reference: 'JT/T 1078-2016 tables 22 and 23',
  responseIds: [0x8001],
  body: {
    replySerial: u16(),
    total: countOf('items', u32()),
    items: listToEnd(
      struct({
        channel: u8(),
        startTime: cameraTime(),
        endTime: cameraTime(),
        alarmFlags: u64(),
        mediaType: u8(), //   0 AV, 1 audio, 2 video
        streamType: u8(), //  1 main, 2 sub
        storageType: u8(), // 1 main, 2 backup
        fileSize: u32(), //   bytes
      }),
    ),
  },
});

/**
 * 0x9201: playback of a recording. It is complete with 0x1205 or 0x0001, whichever arrives first with the right serial.
 */
export const playbackRequest = defineMessage({
  id: 0x9201,
  name: 'playbackRequest',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 24',
  responseIds: [0x1205, 0x0001],
  body: {
    ...mediaServer,
    channel: u8(),
    mediaType: u8(), //    0 AV, 1 audio, 2 video, 3 video or AV
    streamType: u8(), // 0 main or sub, 1 main, 2 sub: differs from 0x9101
    storageType: u8(), //  0 either, 1 main, 2 backup
    playbackMode: u8(), // 0 normal, 1 fast forward, 2 key-frame rewind, 3 key frames, 4 single frame
    speed: u8(), //        modes 1 and 2: 1 1x, 2 2x, 3 4x, 4 8x, 5 16x
    startTime: cameraTime(),
    endTime: cameraTime(), // null = to the end
  },
});

/** 0x9202: control of a playback. */
export const playbackControl = defineMessage({
  id: 0x9202,
  name: 'playbackControl',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 25',
  responseIds: [0x0001],
  body: {
    channel: u8(),
    control: u8(), // 0 play, 1 pause, 2 stop, 3 fast forward, 4 key-frame rewind, 5 seek, 6 key frames
    speed: u8(), //   controls 3 and 4
    seekTime: cameraTime(), // control 5, else null
  },
});

/** 0x9206: upload of a recording by FTP. 0x0001 = accepted, 0x1206 = finished. */
export const fileUploadRequest = defineMessage({
  id: 0x9206,
  name: 'fileUploadRequest',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 26',
  responseIds: [0x0001, 0x1206],
  body: {
    server: text8(),
    port: u16(),
    username: text8(),
    password: text8(),
    path: text8(), // directory to store in; the terminal chooses the file name
    channel: u8(),
    startTime: cameraTime(),
    endTime: cameraTime(),
    alarmFlags: u64(), //  0 = any
    mediaType: u8(), //    0 AV, 1 audio, 2 video, 3 video or AV
    streamType: u8(), //   0 either, 1 main, 2 sub
    storageType: u8(), //  0 either, 1 main, 2 backup
    conditions: u8(), //   bits 0 WiFi, 1 LAN, 2 mobile network
  },
});

/** 0x1206: upload finished. The serial is that of 0x9206. May arrive on a later connection. */
export const fileUploadResult = defineMessage({
  id: 0x1206,
  name: 'fileUploadResult',
  from: 'terminal',
  reference: 'JT/T 1078-2016 table 27',
  responseIds: [0x8001],
  body: { replySerial: u16(), result: u8() }, // result 0 success, 1 failure
});

/** 0x9207: control of an upload. The serial is that of the 0x9206 to control. */
export const fileUploadControl = defineMessage({
  id: 0x9207,
  name: 'fileUploadControl',
  from: 'platform',
  reference: 'JT/T 1078-2016 table 28',
  responseIds: [0x0001],
  body: { replySerial: u16(), control: u8() }, // control 0 pause, 1 resume, 2 cancel
});

/** 0x9301: rotate the camera. */
export const ptzRotate = defineMessage({
  id: 0x9301,
  name: 'ptzRotate',
  from: 'platform',
  reference: 'JT/T 1078-2016 5.7.1',
  responseIds: [0x0001],
  body: { channel: u8(), direction: u8(), speed: u8() }, // direction 0 stop, 1 up, 2 down, 3 left, 4 right
});

function definePtz<const N extends string>(id: number, name: N, section: string) {
  return defineMessage({
    id,
    name,
    from: 'platform',
    reference: `JT/T 1078-2016 ${section}`,
    responseIds: [0x0001],
    body: { channel: u8(), value: u8() }, // focus, iris, zoom: 0 increase, 1 decrease; wiper, light: 0 stop, 1 start
  });
}

/** 0x9302: focal length. */
export const ptzFocus = definePtz(0x9302, 'ptzFocus', '5.7.2');
/** 0x9303: iris. */
export const ptzIris = definePtz(0x9303, 'ptzIris', '5.7.3');
/** 0x9304: wiper. */
export const ptzWiper = definePtz(0x9304, 'ptzWiper', '5.7.4');
/** 0x9305: infrared light. */
export const ptzInfraredLight = definePtz(0x9305, 'ptzInfraredLight', '5.7.5');
/** 0x9306: zoom. */
export const ptzZoom = definePtz(0x9306, 'ptzZoom', '5.7.6');
