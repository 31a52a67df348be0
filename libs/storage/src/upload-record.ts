import { randomBytes } from 'node:crypto';

/** Upload statuses of the interface. */
export const uploadStatuses = ['uploading', 'paused', 'completed', 'failed', 'cancelled'] as const;

/** Upload status of the interface. */
export type UploadStatus = (typeof uploadStatuses)[number];

/** Identity of a clip; host, port and networks do not count. Values are those of JT/T 1078 table 22 (0x9205). */
export interface Clip {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly mediaType: number;
  readonly streamType: number;
  readonly storageType: number;
  /** Unsigned 64-bit number in decimal. */
  readonly alarmFlags: string;
}

/** One file of an upload that a camera has sent or is sending. */
export interface UploadedFile {
  /** Path below the upload's own directory, as the camera named it. */
  readonly path: string;
  readonly bytes: number;
  /** `whole`: its last transfer completed; `broken`: it was interrupted. */
  readonly state: 'receiving' | 'whole' | 'broken';
  /** Start of its first transfer; files are downloaded in this order. */
  readonly startedAtMs: number;
}

/** Statuses of a conversion to MP4. */
export const mp4Statuses = ['queued', 'running', 'completed', 'failed', 'canceled'] as const;

/** The conversion of a completed upload to MP4. */
export interface Mp4Job {
  readonly status: (typeof mp4Statuses)[number];
  readonly percent: number;
  readonly requestedAtMs: number;
  /** Size of the MP4; null until it is completed. */
  readonly sizeBytes: number | null;
  /** Reason of the status `failed`, a sentence. */
  readonly error: string | null;
  /** True if the clip can never be converted, so that a retry is useless. */
  readonly isRefused: boolean;
  /** Identifies the process that runs the job; another one takes over after `untilMs`. */
  readonly claim: { readonly token: string; readonly untilMs: number } | null;
}

/** One clip upload, a document of the collection `uploads`. */
export interface UploadRecord {
  /** 24 hex digits: the interface's `video_id`. */
  readonly _id: string;
  /** `clipKey()` of the clip and the account; unique. */
  readonly clipKey: string;
  readonly clip: Clip;
  /**
   * Account that owned the device when the upload was requested, and owns the clip. Null, and absent on older records:
   * no account.
   */
  readonly accountId?: number | null;
  /** User who requested the upload. Null, and absent on older records: an API key, or no credential. */
  readonly requestedBy?: number | null;
  /** Vehicle that had the terminal at the request; null: none, or deleted. Absent on older records. */
  readonly vehicleId?: number | null;
  /** The integer id in lists, in the order of the requests. Absent on older records until they are migrated. */
  readonly number?: number;
  /** Number of changes; absent: none counted. */
  readonly revision?: number;
  /** The terminal's number as it sends it, or as the caller wrote it while that is unknown. */
  readonly shownImei: string;
  /** Number as the requesting caller wrote it: responses about one upload repeat it. */
  readonly askedImei: string;
  /** UTC offset of the camera's clock at the request, such as `+08:00`. */
  readonly cameraUtcOffset: string;
  /** `reserved`: the camera has not responded yet. Such a record is not listed and ends at `reservedUntilMs`. */
  readonly status: 'reserved' | UploadStatus;
  readonly reservedUntilMs: number;
  /** Whether the camera may upload over the mobile network: the idle time then counts from the request. */
  readonly mobileNetwork: boolean;
  /** Header serial of the 0x9206, repeated by 0x9207 and 0x1206; null if its response was lost with a process. */
  readonly commandSerialNo: number | null;
  /** A control command without a response so far. */
  readonly control: { readonly token: string; readonly untilMs: number } | null;
  /** Login of the camera; the user name is `uploadUserName(_id)`. */
  readonly credential: { readonly passwordSha256: string; readonly expiresAtMs: number } | null;
  /** The upload-ftp pod that stores the files, and its HTTP address; pod `any` for object storage. */
  readonly server: { readonly podId: string; readonly httpUrl: string } | null;
  readonly files: readonly UploadedFile[];
  /** The camera uploads to an external FTP server; absent otherwise. */
  readonly external?: boolean;
  /** Sum of the files' bytes. */
  readonly filesize: number;
  /** Newest file that has bytes, or the first opened one. */
  readonly filename: string | null;
  /** The camera's 0x1206: 0 success, 1 failure. */
  readonly result: { readonly code: number; readonly atMs: number } | null;
  /** The camera ended its FTP session with QUIT after a transfer. */
  readonly hasQuit: boolean;
  readonly lastByteAtMs: number | null;
  /** Bytes that the camera lists for the clip; null if it lists none, absent until it was queried. */
  readonly expectedBytes?: number | null;
  /** Bytes per second of the last seconds before `lastByteAtMs`; absent until the second save of a transfer. */
  readonly bytesPerSecond?: number;
  /** The newest conversion to MP4; absent if none was requested. */
  readonly mp4?: Mp4Job;
  /** Why the upload failed; absent on other uploads. */
  readonly failureReason?: string;
  /** Time without a byte while the device was connected. */
  readonly silentMs: number;
  readonly createdAtMs: number;
  /** Time of the last status change. */
  readonly changedAtMs: number;
}

/** Returns the identity of a clip as one string. Successive accounts of a device each have their own clips. */
export const clipKey = (clip: Clip, accountId: number | null = null): string =>
  [
    clip.imei,
    clip.channel,
    clip.startMs,
    clip.endMs,
    clip.mediaType,
    clip.streamType,
    clip.storageType,
    clip.alarmFlags,
    ...(accountId === null ? [] : [`account-${accountId}`]),
  ].join(':');

/** Data of a reservation in addition to its clip; nothing has been sent yet. */
type Reservation = Pick<
  UploadRecord,
  | 'accountId'
  | 'vehicleId'
  | 'requestedBy'
  | 'shownImei'
  | 'askedImei'
  | 'cameraUtcOffset'
  | 'reservedUntilMs'
  | 'mobileNetwork'
>;

/** Returns a new record of a clip that is about to be requested. */
export function createReservation(clip: Clip, reservation: Reservation): UploadRecord {
  const nowMs = Date.now();
  return {
    _id: randomBytes(12).toString('hex'),
    clipKey: clipKey(clip, reservation.accountId),
    clip,
    ...reservation,
    status: 'reserved',
    commandSerialNo: null,
    control: null,
    credential: null,
    server: null,
    files: [],
    filesize: 0,
    filename: null,
    result: null,
    hasQuit: false,
    lastByteAtMs: null,
    silentMs: 0,
    createdAtMs: nowMs,
    changedAtMs: nowMs,
  };
}

/**
 * Returns whether the clip goes to an external FTP server. A file that arrives here shows that the server is this
 * product under another name.
 */
export const isExternalUpload = ({ external, files }: Pick<UploadRecord, 'external' | 'files'>): boolean =>
  external === true && files.length === 0;

/** Returns the FTP user name of an upload: letters and digits only, as cameras require. */
export const uploadUserName = (uploadId: string): string => `u${uploadId}`;
