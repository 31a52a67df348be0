import type { ErrorTexts, ExampleValues } from '@fleet/service-kit';

const span = { start_time: '2026-08-01T10:00:00+08:00', end_time: '2026-08-01T10:05:00+08:00' };

/** Example bodies by operation, where an example with every field would contradict itself. */
export const requestExamples: ExampleValues = {
  sendControlCommand: { command: 4 },
  startStream: { channel: 1, data_type: 0, stream_type: 1 },
  startPlayback: { channel: 1, ...span, resource_type: 0, stream_type: 2, memory_type: 1 },
  requestUpload: { channel: 1, ...span, resource_type: 0, stream_type: 1, wifi: true, lan: true, mobile_network: true },
  sendInstruct: {
    token: 'pt_4fXh2mPq7RtY',
    deviceImei: '013800138000',
    proNo: '33536',
    cmdContent: 'Please call the dispatcher.',
    timeOut: '30',
    sync: 'true',
    offlineFlag: 'false',
    requestId: 'a1b2c3',
  },
};

/** Typical errors of the Device API. */
export const deviceErrorTexts: ErrorTexts = {
  validation_failed: 'The query parameter imei is missing.',
  api_key_invalid: 'The header x-api-key has no valid key.',
  permission_denied: 'The API key lacks the scope for this request.',
  device_not_connected: 'The device is not connected.',
  camera_busy: 'The camera is already uploading another clip.',
};
