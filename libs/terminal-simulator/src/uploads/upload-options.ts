/**
 * Fault of an upload after a number of bytes of one attempt at a file: `reset` (RST of the data connection), `finish`
 * (its FIN, which a server treats as the end of the file), `controlLost` (the control connection is lost, the data
 * connection stays open and silent), `silent` (both stay open and nothing more is sent).
 */
export interface UploadFault {
  how: 'reset' | 'finish' | 'controlLost' | 'silent';
  afterBytes: number;
  /** Number of consecutive attempts that the fault affects; 1 by default. */
  times?: number | undefined;
}

/** One file of an upload before its name is determined. */
export interface UploadFilePlan {
  channel: number;
  /** Time on the camera's clock, digits only. */
  startTime: string;
  endTime: string;
  /** Index of the file, from 0. */
  index: number;
}

/** Options for uploading recordings by FTP. */
export interface UploadOptions {
  /** Upload speed; unlimited by default. */
  uploadBytesPerSecond?: number | undefined;
  /** Continuation of a paused or broken upload: after the server's bytes by APPE or by REST and STOR, or from zero. */
  uploadResume?: 'append' | 'restart' | 'fromZero' | undefined;
  /** Retries of a broken upload after the first attempt (10); a refused log-in is not retried. */
  uploadRetries?: number | undefined;
  /** Delay before each retry (1 s). */
  uploadRetryMs?: number | undefined;
  /** One file for the whole clip, or one for each recording of the clip. */
  uploadFiles?: 'one' | 'perRecording' | undefined;
  /** Returns the file name; `CH1_20260801115958_20260801120000.mp4` by default. */
  uploadFileName?: ((plan: UploadFilePlan) => string) | undefined;
  /**
   * Directory below the path of 0x9206, such as `2026-08-01/ch1`, that the terminal creates (MKD) and enters (CWD) step
   * by step.
   */
  uploadDirectory?: string | undefined;
  /** Mode of the data connection. */
  uploadDataMode?: 'pasv' | 'epsv' | 'port' | 'eprt' | undefined;
  /** Explicit TLS on both connections. The certificate is not verified, since terminals have no list of authorities. */
  uploadTls?: boolean | undefined;
  /** Effect of a pause: FIN on both connections, RST on both, or both stay open and silent. */
  uploadPause?: 'close' | 'reset' | 'hold' | undefined;
  /** Faults to inject, each into the next attempt that reaches its byte count. */
  uploadFaults?: readonly UploadFault[] | undefined;
  /**
   * Result in 0x1206: the actual one, always success or failure, never sent, or success before the last file is closed.
   */
  uploadNotice?: 'truth' | 'success' | 'failure' | 'never' | 'early' | undefined;
  /** False: closes the control connection without QUIT after the last file. */
  uploadQuits?: boolean | undefined;
}
