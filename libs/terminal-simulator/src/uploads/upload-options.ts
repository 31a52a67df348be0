/**
 * Accident on the way of an upload, once so many bytes of one attempt at a file were sent: `reset` (RST of the data connection), `finish` (its FIN, which a
 * server takes for the end of the file), `controlLost` (the control connection is gone, the data connection stays open and silent), `silent` (both
 * stay open and nothing comes any more).
 */
export interface UploadFault {
  how: 'reset' | 'finish' | 'controlLost' | 'silent';
  afterBytes: number;
  /** How many attempts it hits, one after the other; 1 by default. */
  times?: number | undefined;
}

/** One file of an upload before its name is chosen. */
export interface UploadFilePlan {
  channel: number;
  /** On the camera's clock, digits only. */
  startTime: string;
  endTime: string;
  /** Counts from 0. */
  index: number;
}

/** How a terminal uploads its recordings by FTP. */
export interface UploadOptions {
  /** Speed of FTP uploads; unlimited by default. */
  uploadBytesPerSecond?: number | undefined;
  /** How a paused or broken upload goes on: behind what the server has by APPE or by REST and STOR, or from zero. */
  uploadResume?: 'append' | 'restart' | 'fromZero' | undefined;
  /** Attempts after the first that a broken upload is given (10); a refused log-in is not tried again. */
  uploadRetries?: number | undefined;
  /** Wait before each of them (1 s). */
  uploadRetryMs?: number | undefined;
  /** One file for the whole clip, or one for each recording that it touches. */
  uploadFiles?: 'one' | 'perRecording' | undefined;
  /** Own names: `CH1_20260801115958_20260801120000.mp4` by default. */
  uploadFileName?: ((plan: UploadFilePlan) => string) | undefined;
  /** Directory below the path of 0x9206, such as `2026-08-01/ch1`, that the terminal makes (MKD) and enters (CWD) step by step. */
  uploadDirectory?: string | undefined;
  /** How the data connection is opened. */
  uploadDataMode?: 'pasv' | 'epsv' | 'port' | 'eprt' | undefined;
  /** Explicit TLS on both connections; the certificate is not checked, as terminals have no list of authorities. */
  uploadTls?: boolean | undefined;
  /** What a pause does: FIN on both connections, RST on both, or both stay open and silent. */
  uploadPause?: 'close' | 'reset' | 'hold' | undefined;
  /** Accidents on the way, each hitting the next attempt that gets so far. */
  uploadFaults?: readonly UploadFault[] | undefined;
  /** What 0x1206 says: the truth, always success or failure, nothing as it is never sent, or success before the last file is closed. */
  uploadNotice?: 'truth' | 'success' | 'failure' | 'never' | 'early' | undefined;
  /** False: closes the control connection without QUIT after the last file. */
  uploadQuits?: boolean | undefined;
}
