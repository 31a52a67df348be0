import { Type } from 'typebox';
import { defineEvent } from './contract.ts';
import { defineUseCase } from './use-case.ts';

const uploadId = Type.String({ pattern: '^[0-9a-f]{24}$' });
const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });
const byte = Type.Integer({ minimum: 0, maximum: 255 });
const timestampMs = Type.Integer();
const status = Type.Union([
  Type.Literal('uploading'),
  Type.Literal('paused'),
  Type.Literal('completed'),
  Type.Literal('failed'),
  Type.Literal('cancelled'),
]);
/** The clip is uploaded to an external FTP server. */
const external = Type.Boolean();
/** Id of the user who requested the upload; absent for API keys. */
const requestedBy = Type.Integer({ minimum: 1 });
const podIdPattern = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Requests a credential from any upload-ftp pod. It is stored (hashed) with the reservation and valid for that upload
 * only.
 */
export const grantUpload = defineUseCase({
  subject: 'upload-ftp.grant',
  request: Type.Object({ uploadId }),
  result: Type.Object({
    /** Address for the camera, unless the caller names another host or port. */
    host: Type.String({ minLength: 1, maxLength: 255 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    username: Type.String({ minLength: 1, maxLength: 64 }),
    password: Type.String({ minLength: 1, maxLength: 64 }),
    path: Type.String({ maxLength: 255 }),
  }),
});

/**
 * Deletes an upload's files on the pod that stores them, all or none; `any` for object storage. Succeeds if they do not
 * exist.
 */
export const removeUploadFiles = (podId: string) => {
  if (!podIdPattern.test(podId)) throw new RangeError(`${podId} is not a pod id`);
  return defineUseCase({
    subject: `upload-ftp.pod.${podId}.remove-files`,
    request: Type.Object({ uploadId }),
    result: Type.Object({}),
  });
};

/**
 * Returns the HTTP address of the pod that stores an upload's files; `any` for object storage, which every pod reads.
 */
export const locateClip = (podId: string) => {
  if (!podIdPattern.test(podId)) throw new RangeError(`${podId} is not a pod id`);
  return defineUseCase({
    subject: `upload-ftp.pod.${podId}.clip-source`,
    request: Type.Object({}),
    result: Type.Object({ httpUrl: Type.String({ pattern: '^https?://', maxLength: 1024 }) }),
  });
};

/** Event for every upload-ftp pod: an upload has ended or was deleted, so its FTP sessions are closed. */
export const uploadRevoked = defineEvent({
  subject: 'upload-ftp.revoked',
  schema: Type.Object({ uploadId }),
});

/**
 * Event: progress of an upload. Subject: `uploadSubject`; `closed` (a final status) is stored in the stream UPLOADS,
 * `progress` is not.
 */
export const uploadChanged = defineEvent({
  subject: 'upload.*.*',
  schema: Type.Object({
    uploadId,
    imei,
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    status,
    filesize: Type.Integer({ minimum: 0 }),
    filename: Type.Union([Type.String(), Type.Null()]),
    atMs: Type.Integer({ minimum: 0 }),
    external: Type.Optional(external),
  }),
});

/** Event for every upload-ftp pod: a conversion to MP4 was requested or canceled. */
export const mp4Requested = defineEvent({
  subject: 'upload-ftp.mp4-requested',
  schema: Type.Object({ uploadId }),
});

/** Event: progress or end of a conversion to MP4, which the upload's record contains. Subject: `mp4Subject`. */
export const mp4Changed = defineEvent({
  subject: 'upload.*.mp4',
  schema: Type.Object({ uploadId, imei }),
});

/** Returns the subject of changes of one conversion. */
export const mp4Subject = (id: string): string => `upload.${id}.mp4`;

/** Returns the subject of changes of one upload. */
export const uploadSubject = (id: string, event: 'progress' | 'closed'): string => `upload.${id}.${event}`;

const upload = Type.Object({
  videoId: uploadId,
  /** As the terminal sends it. */
  imei: Type.String(),
  channel: byte,
  startMs: timestampMs,
  endMs: timestampMs,
  /** The camera's clock when the upload was requested. */
  cameraUtcOffset: Type.String(),
  filesize: Type.Integer({ minimum: 0 }),
  status,
  /** null until the camera starts sending the file. */
  filename: Type.Union([Type.String(), Type.Null()]),
  external: Type.Optional(external),
  requestedBy: Type.Optional(requestedBy),
});

/** Upload use cases of device-api; a part of `deviceApi`. */
export const uploadUseCases = {
  /** GET /videos/upload; without `host` and `port` the camera uploads to this product. */
  requestUpload: defineUseCase({
    subject: 'device-api.request-upload',
    request: Type.Object({
      imei,
      channel: byte,
      startMs: timestampMs,
      endMs: timestampMs,
      mediaType: byte,
      streamType: byte,
      storageType: byte,
      /** Unsigned 64-bit number in decimal. */
      alarmFlags: Type.String({ pattern: '^\\d{1,20}$' }),
      /** Networks that the camera may use: bit 0 Wi-Fi, bit 1 LAN, bit 2 mobile network. */
      conditions: Type.Integer({ minimum: 1, maximum: 7 }),
      host: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
      port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
      requestedBy: Type.Optional(requestedBy),
    }),
    result: Type.Object({
      responseId: Type.String(),
      /** Status of the clip's upload, if it has one. */
      result: Type.Union([Type.Literal('success'), status]),
      videoId: uploadId,
    }),
  }),
  /** GET /videos/control: 0 pause, 1 resume, 2 cancel. */
  controlUpload: defineUseCase({
    subject: 'device-api.control-upload',
    request: Type.Object({ videoId: uploadId, action: Type.Integer({ minimum: 0, maximum: 2 }) }),
    result: upload,
  }),
  /** GET /videos. */
  findUpload: defineUseCase({
    subject: 'device-api.find-upload',
    request: Type.Object({ videoId: uploadId }),
    result: upload,
  }),
  /** GET /videos/list. */
  listUploads: defineUseCase({
    subject: 'device-api.list-uploads',
    request: Type.Object({ imei, channel: Type.Optional(byte) }),
    result: Type.Object({ videos: Type.Array(upload) }),
  }),
};
