// Numbers as people type them: a decimal comma is read as one, and what may be read in two ways is refused.

const SPACES = /[\s\u00a0\u2009\u202f'\u2019]/g;

// {value} of a text, {value: null} of none; else {why}: what is wrong with it.
function readTyped(text) {
  const plain = text.trim().replace(/^\u2212/, "-");
  if (plain === "") return { value: null };
  const grouped = /^[-+]?\d{1,3}([\s\u00a0\u2009\u202f'\u2019]\d{3})+([.,]\d+)?$/.test(plain);
  const bare = grouped ? plain.replace(SPACES, "") : plain;
  if (!/^[-+]?(\d[\d.,]*|[.,]\d+)(e[-+]?\d+)?$/i.test(bare)) return { why: "Not a number; taken as unknown." };
  const [digits, power] = bare.toLowerCase().split("e"), read = readDigits(digits);
  if (typeof read !== "string") return read;
  const value = Number(power === undefined ? read : `${read}e${power}`);
  return Math.abs(value) <= 1e150 ? { value } : { why: "Too large a number; taken as unknown." };
}

const DATE = /^(\d{4})-(\d\d?)-(\d\d?)(?:[T\s]+(\d\d?):(\d\d)(?::(\d\d(?:\.\d+)?))?)?$/;

// The same of a cell of a column: of dates, such as 2026-04-03 14:05, seconds since 1970.
function readCell(text, field) {
  if (!field.date) return readTyped(text);
  const plain = text.trim(), parts = DATE.exec(plain);
  if (plain === "") return { value: null };
  if (!parts) return { why: "Not a date such as 2026-04-03; taken as unknown." };
  const [year, month, day, hour, minute, second] = parts.slice(1).map((own) => Number(own ?? 0));
  const made = new Date(0);
  made.setUTCFullYear(year, month - 1, day);
  made.setUTCHours(hour, minute);
  const there = made.getUTCMonth() === month - 1 && made.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  return there ? { value: made.getTime() / 1000 + second } : { why: "There is no such date; taken as unknown." };
}

// A number of a column as a person may type it again.
function writeCell(value, field) {
  if (!field.date) return String(value);
  const text = new Date(1000 * value).toISOString().replace("T", " ").replace(/Z$|\.000Z$/, "");
  return text.replace(/ 00:00:00$/, "").replace(/:00$/, "");
}

// A number of a column in few letters: of dates no finer than a minute.
const tellCell = (value, field) => (field.date ? writeCell(60 * Math.floor(value / 60), field) : number(value));

// Digits with points and commas as a text that JavaScript reads, or {why}.
function readDigits(digits) {
  const points = digits.split(".").length - 1, commas = digits.split(",").length - 1, unclear = { why: "Not a number; taken as unknown." };
  if (!commas && points <= 1) return digits;
  if (commas && points) {
    const decimal = digits.lastIndexOf(",") > digits.lastIndexOf(".") ? "," : ".", group = decimal === "," ? "\\." : ",";
    const [whole, ...rest] = digits.split(decimal);
    if (rest.length > 1 || !new RegExp(`^[-+]?\\d{1,3}(${group}\\d{3})+$`).test(whole)) return unclear;
    return `${whole.replace(/[.,]/g, "")}.${rest[0]}`;
  }
  if (commas + points > 1) return /^[-+]?\d{1,3}([.,]\d{3})+$/.test(digits) ? digits.replace(/[.,]/g, "") : unclear;
  if (/^[-+]?[1-9]\d{0,2},\d{3}$/.test(digits)) {
    return { why: `${digits} may be ${digits.replace(",", ".")} or ${digits.replace(",", "")}: write one of these. Taken as unknown.` };
  }
  return digits.replace(",", ".");
}

// What is to be said of a number that the rows of the column do not look like; "" of all others.
function oddity(value, field) {
  if (field.count && (value < 0 || value % 1 !== 0)) return "A count (0, 1, 2, …) is needed; taken as unknown.";
  return "";
}

function remark(value, field) {
  if (field.low !== null && value < field.low) return `Below ${tellCell(field.low, field)}, the least that this column holds.`;
  if (field.high !== null && value > field.high) return `Above ${tellCell(field.high, field)}, the most that this column holds.`;
  if (field.step === 1 && value % 1 !== 0 && !field.date) return "The rows learned hold whole numbers here.";
  return "";
}

// A number in the steps of its column.
function stepped(value, field) {
  if (field.step === null) return field.date ? Math.round(value) : Number(value.toPrecision(4));
  const start = field.phase ?? 0, near = start + Math.round((value - start) / field.step) * field.step;
  const tidy = field.decimals < 0 ? Number(near.toPrecision(12)) : Number(near.toFixed(field.decimals));
  return Math.min(Math.max(tidy, field.low ?? -Infinity), field.high ?? Infinity);
}
