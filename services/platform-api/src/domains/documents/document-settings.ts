/** Settings of the text recognition in documents. */
export const documentSettings = {
  OCR_ENGINE: {
    type: 'string',
    default: 'tesseract',
    enum: ['tesseract', 'http', 'none'],
    description:
      'engine that reads text from pictures of documents; none: reads only text, the text of barcodes and that of PDFs',
  },
  OCR_HTTP_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives a picture with OCR_ENGINE=http and returns {text, confidence}',
  },
  OCR_TIMEOUT_MS: {
    type: 'integer',
    minimum: 1000,
    maximum: 300_000,
    default: 20_000,
    description: 'timeout for the text of one picture',
  },
} as const;
