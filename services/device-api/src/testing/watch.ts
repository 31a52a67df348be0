/** Something that is being shown. */
export interface Watching {
  readonly end: () => Promise<void>;
  readonly isOver: () => boolean;
}

/** Reads an answer from its first bytes on until it is cut, or ended here. */
export async function watchUntilCut(answer: Response): Promise<Watching> {
  const reader = answer.body?.getReader();
  await reader?.read();
  let isOver = false;
  void (async () => {
    for (let read = await reader?.read(); read?.done === false; ) read = await reader?.read();
  })()
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
    });
  // What has broken off can not be ended.
  return { end: async () => reader?.cancel().catch(() => undefined), isOver: () => isOver };
}
