// Imported first by every entry: old versions of Node fail later with errors that nobody understands.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `This is Node.js ${process.versions.node}; install 20.19 or later (24 is the current long-term one) and try again.`,
  );
  process.exit(1);
}
