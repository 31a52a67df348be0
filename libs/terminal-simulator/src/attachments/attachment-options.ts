/**
 * Fault of an attachment upload after a number of data bytes of one connection: a reset, or a FIN in the middle of a
 * packet.
 */
export interface AttachmentFault {
  how: 'reset' | 'finish';
  afterBytes: number;
  /** Number of consecutive connections that the fault affects; 1 by default. */
  times?: number | undefined;
}

/** Options for sending the attachments of alarms. */
export interface AttachmentOptions {
  /** Upload speed; unlimited by default. */
  attachmentBytesPerSecond?: number | undefined;
  /** Data bytes of one packet; 64 KiB by the standard. */
  attachmentChunkBytes?: number | undefined;
  /** Chunks of each file, counted from 0, that are lost in the first transmission. */
  attachmentLostChunks?: readonly number[] | undefined;
  /** Order of the chunks of a file. */
  attachmentOrder?: 'inOrder' | 'reversed' | 'twice' | undefined;
  /** After a lost connection: resume after the sent data, or start each file again. */
  attachmentResume?: 'rest' | 'fromZero' | undefined;
  /** Retries after the first connection (10), and the delay before each (1 s). */
  attachmentRetries?: number | undefined;
  attachmentRetryMs?: number | undefined;
  /** True: sends no 0x1211 before a file, as some terminals do. */
  attachmentSkipsInfo?: boolean | undefined;
  /** True: sends each 0x1212 twice. */
  attachmentRepeatsComplete?: boolean | undefined;
  /** Faults to inject, each into the next connection that reaches its byte count. */
  attachmentFaults?: readonly AttachmentFault[] | undefined;
}
