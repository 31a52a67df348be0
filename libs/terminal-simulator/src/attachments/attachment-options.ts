/** Accident on the way of attachments, once so many bytes of one connection's data were sent: a reset, or a FIN in the middle of a packet. */
export interface AttachmentFault {
  how: 'reset' | 'finish';
  afterBytes: number;
  /** How many connections it hits, one after the other; 1 by default. */
  times?: number | undefined;
}

/** How a terminal sends attachments of alarms. */
export interface AttachmentOptions {
  /** Speed; unlimited by default. */
  attachmentBytesPerSecond?: number | undefined;
  /** Data of one packet; 64 KiB by the standard. */
  attachmentChunkBytes?: number | undefined;
  /** Chunks of each file, counted from 0, that are lost the first time. */
  attachmentLostChunks?: readonly number[] | undefined;
  /** Order of the chunks of a file. */
  attachmentOrder?: 'inOrder' | 'reversed' | 'twice' | undefined;
  /** A connection that is lost goes on behind what was sent, or begins each file again. */
  attachmentResume?: 'rest' | 'fromZero' | undefined;
  /** Connections after the first that attachments are given (10), and the wait before each of them (1 s). */
  attachmentRetries?: number | undefined;
  attachmentRetryMs?: number | undefined;
  /** True: no 0x1211 before a file, as some terminals do it. */
  attachmentSkipsInfo?: boolean | undefined;
  /** True: each 0x1212 comes twice. */
  attachmentRepeatsComplete?: boolean | undefined;
  /** Accidents on the way, each hitting the next connection that gets so far. */
  attachmentFaults?: readonly AttachmentFault[] | undefined;
}
