/** Returns whether a path is one of the sections, or a page below one of them. */
export const isInSection = (path: string, sections: readonly string[]): boolean =>
  sections.some((section) => path === section || path.startsWith(`${section}/`));
