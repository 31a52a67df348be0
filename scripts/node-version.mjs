// Imported first by every entry point: old versions of Node.js fail later with misleading errors.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `This is Node.js ${process.versions.node}; install 20.19 or later (24 is the current long-term one) and try again.`,
  );
  process.exit(1);
}
