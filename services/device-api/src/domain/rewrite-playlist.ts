/** Returns a playlist (RFC 8216bis) with other addresses of its files: in lines of their own, and in `URI` attributes. */
export const rewritePlaylist = (playlist: string, toAddress: (file: string) => string): string =>
  playlist
    .split('\n')
    .map((line) => {
      if (line === '') return line;
      if (!line.startsWith('#')) return toAddress(line);
      return line.replace(/URI="([^"]+)"/, (_attribute, file: string) => `URI="${toAddress(file)}"`);
    })
    .join('\n');
