// Live updates, clocks that tick, and the keyboard. Every page works without this file.
// The server renders all HTML; nothing here makes HTML of text.
'use strict';
(() => {
const $ = (sel, from = document) => from.querySelector(sel);
const all = (sel, from = document) => [...from.querySelectorAll(sel)];
const root = document.documentElement;
root.classList.add('js');

// ---- theme ----
const themes = ['auto', 'light', 'dark'];
let theme = 'auto';
try { theme = localStorage.getItem('bossman-theme') || 'auto' } catch { /* no storage */ }
function setTheme(t) {
  theme = themes.includes(t) ? t : 'auto';
  if (theme === 'auto') root.removeAttribute('data-theme'); else root.dataset.theme = theme;
  try { localStorage.setItem('bossman-theme', theme) } catch { /* no storage */ }
  const b = $('#theme');
  if (b) b.textContent = 'Theme: ' + theme;
}
setTheme(theme);

// ---- forms ----
for (const f of all('form[data-auto=load]')) f.requestSubmit();
document.addEventListener('change', e => { const f = e.target.closest('form[data-auto=change]'); if (f) f.requestSubmit() });
document.addEventListener('submit', e => { // a second click must not send twice
  if (e.target.id === 'decide' && unsaid()) { e.preventDefault(); return }
  if (e.target.dataset.sent) e.preventDefault();
  e.target.dataset.sent = '1';
  setTimeout(() => delete e.target.dataset.sent, 3000);
});
window.addEventListener('pageshow', () => all('form[data-sent]').forEach(f => delete f.dataset.sent));
document.addEventListener('click', e => {
  const b = e.target.closest('button');
  if (!b) return;
  if (b.id === 'theme') setTheme(themes[(themes.indexOf(theme) + 1) % 3]);
  if (b.dataset.copy !== undefined) navigator.clipboard?.writeText(b.dataset.copy).then(() => { b.textContent = 'Copied' });
  if (b.id === 'retry') connect();
});

const shell = $('#shell');
if (!shell) return;
if (location.search.includes('said=')) { // the message is shown once
  const u = new URL(location.href);
  u.searchParams.delete('said');
  history.replaceState(null, '', u);
}

// ---- notifications of this browser ----
const bell = $('#thisbrowser');
if (bell && 'serviceWorker' in navigator && 'PushManager' in window) {
  const on = $('#push-on'), off = $('#push-off'), state = text => { $('#push-state').textContent = text };
  const show = sub => {
    on.classList.toggle('gone', !!sub);
    off.classList.toggle('gone', !sub);
    off.elements.endpoint.value = sub ? sub.endpoint : '';
    state(sub ? 'This browser shows notifications.' : Notification.permission === 'denied' ? 'This browser does not allow notifications of this site. Its settings can.' : 'This browser shows no notifications yet.');
  };
  const current = async () => (await (await navigator.serviceWorker.getRegistration('/'))?.pushManager.getSubscription()) || null;
  const subscribe = async () => {
    if (await Notification.requestPermission() !== 'granted') throw new Error('it was not allowed');
    await navigator.serviceWorker.register('/worker.js', {updateViaCache: 'none'});
    const r = await navigator.serviceWorker.ready, key = Uint8Array.from(atob(bell.dataset.vapid.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0));
    await (await r.pushManager.getSubscription())?.unsubscribe(); // it may be for another key
    return r.pushManager.subscribe({userVisibleOnly: true, applicationServerKey: key});
  };
  current().then(show, () => show(null));
  on.addEventListener('submit', e => {
    e.preventDefault();
    subscribe().then(sub => {
      const {endpoint, keys} = sub.toJSON();
      on.elements.endpoint.value = endpoint;
      on.elements.p256dh.value = keys.p256dh;
      on.elements.auth.value = keys.auth;
      on.submit();
    }).catch(err => state('Not turned on: ' + err.message + '.'));
  });
  off.addEventListener('submit', e => {
    e.preventDefault();
    current().then(sub => sub?.unsubscribe()).finally(() => off.submit());
  });
}

// ---- time ----
let offset = -Infinity; // the server's clock minus ours; a cached page is late, so the largest counts
function readClock(el) { offset = Math.max(offset, (+el.dataset.now || Date.now()) - Date.now()) }
readClock(shell);
const now = () => Date.now() + offset;
function span(ms) {
  const s = Math.floor(ms / 1000);
  if (s < 1) return '0 s';
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min';
  if (s < 172800) return Math.floor(s / 3600) + ' h';
  return Math.floor(s / 86400) + ' days';
}
const pad = n => String(n).padStart(2, '0');
function clock(t, seconds) {
  const d = new Date(t);
  let s = pad(d.getHours()) + ':' + pad(d.getMinutes()) + (seconds ? ':' + pad(d.getSeconds()) : '');
  if (Math.abs(t - now()) > 72e6) s = d.getDate() + ' ' + d.toLocaleString('en', {month: 'short'}) + ' ' + s;
  return s;
}
function set(node, text) { if (node.textContent !== text) node.textContent = text }
function tick() {
  const t = now();
  for (const el of all('time[data-t]')) {
    const at = Date.parse(el.dateTime);
    if (isNaN(at)) continue;
    switch (el.dataset.t) {
    case 'ago': set(el, t - at < 2000 ? 'now' : span(t - at) + ' ago'); break;
    case 'since': set(el, span(t - at)); break;
    case 'left': set(el, span(at - t)); break;
    case 'clock': set(el, clock(at)); break;
    case 'clocks': set(el, clock(at, true)); break;
    }
  }
  for (const el of all('text[data-at]')) if (el.textContent) set(el, clock(Date.parse(el.dataset.at)).split(' ').pop());
  for (const el of all('svg[data-until]')) {
    const rest = Math.max(0, Date.parse(el.dataset.until) - t) / 1000, part = Math.min(1, rest / (+el.dataset.secs || 1));
    $('.v', el)?.setAttribute('width', (part * 100).toFixed(1) + '%');
    el.classList.toggle('low', part < .2);
  }
  const live = $('#live');
  if (live) {
    set($('span', live), online ? 'Live · ' + clock(t, true) : 'Not live');
    $('.g', live).classList.toggle('good', online);
  }
}

// ---- patching: both trees are walked, what a person has touched is kept ----
const dirty = el => (el.localName === 'textarea' || el.localName === 'input') && el.type !== 'hidden' && el.value !== el.defaultValue && el.value !== '';
const holdsText = el => el.nodeType === 1 && (dirty(el) || all('textarea, input', el).some(dirty));
const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id || '') === (b.id || '');
function morph(a, b) {
  if (a.nodeType !== 1) { if (a.data !== b.data) a.data = b.data; return }
  if (a.hasAttribute('data-keep')) return;
  if (a.nodeName === 'TIME' && a.dateTime === b.dateTime && a.dataset.t === b.dataset.t) return; // tick has it
  for (const {name, value} of [...b.attributes]) if (a.getAttribute(name) !== value) a.setAttribute(name, value);
  for (const {name} of [...a.attributes]) {
    if (b.hasAttribute(name) || name === 'open' || name === 'data-sent') continue;
    a.removeAttribute(name);
  }
  if (a.localName === 'select' && a === document.activeElement) return;
  children(a, b);
}
function children(a, b) {
  const ids = new Map();
  for (const c of a.children) if (c.id) ids.set(c.id, c);
  let x = a.firstChild;
  for (const n of [...b.childNodes]) {
    let m = null;
    if (n.nodeType === 1 && n.id) m = ids.get(n.id) || null;
    else if (x && same(x, n)) m = x;
    if (!m) { a.insertBefore(document.importNode(n, true), x); continue }
    if (m === x) x = x.nextSibling; else a.insertBefore(m, x);
    morph(m, n);
  }
  while (x) {
    const gone = x;
    x = x.nextSibling;
    if (gone.nodeType === 1 && (gone.hasAttribute('data-keep') || gone.hasAttribute('data-gone'))) continue;
    if (holdsText(gone)) markGone(gone); else gone.remove();
  }
}
function markGone(el) { // somebody else has dealt with it, but there is text in it
  el.setAttribute('data-gone', '');
  for (const b of all('button', el)) b.disabled = true;
  el.prepend(strip('err', 'fail', 'Not open any more.', 'Somebody else has dealt with it. Your text is still in the box.'));
}
function strip(kind, symbol, head, text) {
  const d = document.createElement('div'), b = document.createElement('b'), s = document.createElement('span');
  const ns = 'http://www.w3.org/2000/svg', g = document.createElementNS(ns, 'svg'), use = document.createElementNS(ns, 'use');
  d.className = 'strip ' + kind;
  d.setAttribute('role', kind === 'err' ? 'alert' : 'status');
  g.setAttribute('class', 'g' + (kind === 'err' ? ' bad' : kind === 'you' ? ' you' : ''));
  g.setAttribute('aria-hidden', 'true');
  use.setAttribute('href', '#' + symbol);
  g.append(use);
  b.textContent = head;
  s.append(b, ' ' + text);
  d.append(g, s);
  return d;
}

// ---- refreshing ----
let asking = false, again = false, timer = 0, last = 0, took = 0, failed = 0;
const answered = shell.dataset.posted !== undefined; // the page answers a form: a GET of its address shows another one
function soon() {
  if (document.hidden) { again = true; return }
  clearTimeout(timer);
  // A server that answers slowly is asked less often. Up to 140 ms may be the way there and back.
  timer = setTimeout(refresh, Math.max(80, Math.max(400, 10 * took - 1000) - (Date.now() - last)));
}
async function refresh() {
  if (asking) { again = true; return }
  asking = true;
  again = false;
  last = Date.now();
  const headers = {'Bossman-Part': 'main'}, after = news;
  if (after) headers['Bossman-After'] = after; // another replica may not have heard of it yet
  news = '';
  let done = false;
  try {
    const r = await fetch(location.pathname + location.search, {headers, cache: 'no-store', redirect: 'error'});
    if (r.status === 401) { signedOut(); return }
    const text = await r.text();
    done = r.status < 500 && r.status !== 429;
    if (r.ok) {
      const fresh = new DOMParser().parseFromString(text, 'text/html').getElementById('shell');
      if (fresh) {
        const at = document.activeElement, y = scrollY;
        readClock(fresh);
        if (answered) morph($('#side'), $('#side', fresh)); else morph(shell, fresh);
        if (at && at !== document.activeElement && at.isConnected) at.focus({preventScroll: true});
        if (scrollY !== y) scrollTo({top: y});
        if (opening && $('#say-text')) { opening = false; $('#say-text').focus({preventScroll: true}); $('#say').scrollIntoView({block: 'nearest'}) }
        document.title = shell.dataset.title;
        setTheme(theme);
        tick();
      }
    }
  } catch { /* the stream tells whether the server is there */ } finally {
    asking = false;
    took = Math.min(3000, (took + Date.now() - last) / 2); // one slow answer is not a slow server
    failed = done || out ? 0 : failed + 1;
    if (failed) {
      news ||= after;
      clearTimeout(timer);
      timer = setTimeout(soon, Math.min(20, 2 ** (failed - 1)) * 1000);
    } else if (again && !document.hidden) soon();
  }
}
document.addEventListener('visibilitychange', () => { if (!document.hidden && again) soon() });

// unsaid reports whether there is a comment that was typed and not added; a verdict would lose it.
function unsaid() {
  const text = ['#say-text', '#p-text'].map(id => $(id)).find(t => t && dirty(t));
  if (!text) return false;
  if (!$('[role=alert]', text.form)) text.form.prepend(strip('err', 'fail', 'Not sent.', 'This comment is not added yet: add it, or empty the box.'));
  text.form.closest('details')?.setAttribute('open', '');
  text.focus({preventScroll: true});
  text.form.scrollIntoView({block: 'center'});
  return true;
}

let opening = false;
document.addEventListener('click', e => { // a line's number opens the form for a comment in place
  const a = e.target.closest('a.talkon');
  if (!a || answered || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  e.preventDefault();
  const open = $('#say-text');
  if (open && dirty(open)) { open.focus(); return }
  history.replaceState(null, '', a.href.replace(/#.*/, ''));
  opening = true;
  refresh();
});

// ---- the stream: one for all tabs of a browser, since it opens few connections to a host ----
let es = null, online = false, lostAt = 0, tries = 0, waiter = 0, cursor = shell.dataset.cursor, news = '', out = false, leading = false;
const channel = window.BroadcastChannel ? new BroadcastChannel('bossman-live') : null;
function say(node) { const c = $('#conn'); if (c) c.replaceChildren(...(node ? [node] : [])) }
function signedOut() {
  out = true;
  es?.close();
  online = false;
  const s = strip('you', 'you', 'You are signed out.', 'What you typed is kept on this page.'), a = document.createElement('a');
  a.className = 'btn go end';
  a.href = '/signin?to=' + encodeURIComponent(location.pathname + location.search);
  a.textContent = 'Sign in';
  s.append(a);
  say(s);
}
function follows(e) {
  const f = ' ' + shell.dataset.follow + ' ';
  return f.includes(' * ') || f.includes(' ' + e.project + ' ') || e.task && f.includes(' ' + e.task + ' ');
}
// take handles what the stream says, here or in the tab that has it.
function take(m) {
  if (out) return;
  if (m.id) cursor = news = m.id;
  switch (m.kind) {
  case 'message': try { if (follows(JSON.parse(m.data))) soon() } catch { soon() } break;
  case 'reload': soon(); break;
  case 'signedout': signedOut(); break;
  case 'ready':
    if (lostAt) soon();
    online = true;
    lostAt = 0;
    say(null);
    tick();
    break;
  case 'lost':
    lostAt ||= now();
    online = false;
    setTimeout(lost, 1500);
    break;
  }
}
function tell(kind, e) {
  const m = {kind, id: e?.lastEventId || '', data: e?.data || ''};
  take(m);
  channel?.postMessage(m);
}
if (channel) channel.onmessage = e => {
  if (e.data.kind !== 'hello') { if (!leading) take(e.data); return }
  if (leading && online) channel.postMessage({kind: 'ready', id: '', data: ''}); // not the cursor: the new tab may be behind it
};
function connect() {
  clearTimeout(waiter);
  es?.close();
  if (out || !leading || !cursor) return;
  es = new EventSource('/live?after=' + encodeURIComponent(cursor));
  es.onmessage = e => tell('message', e);
  for (const kind of ['reload', 'signedout']) es.addEventListener(kind, e => tell(kind, e));
  es.addEventListener('ready', e => { tries = 0; tell('ready', e) });
  es.onerror = () => {
    if (out) return;
    tell('lost');
    if (es.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    waiter = setTimeout(() => { connect(); refresh() }, Math.min(20, 2 ** tries++) * 1000);
  };
}
function lost() {
  if (!lostAt || out) return;
  if (now() - lostAt < 15000) { say(strip('', 'quiet', 'Reconnecting.', 'You see the board as of ' + clock(lostAt, true) + '. Nothing is lost; it catches up by itself.')); setTimeout(lost, 15000); return }
  const s = strip('err', 'fail', 'The server does not answer.', 'Agents that hold a task go on.');
  if (leading) {
    const b = document.createElement('button');
    b.id = 'retry';
    b.className = 'end';
    b.textContent = 'Try now';
    s.append(b);
  }
  say(s);
}
// lead makes this tab the one that has the stream, now or when the tab that has it closes.
let release = null;
function lead() {
  const begin = () => { leading = true; connect() };
  if (!channel || !navigator.locks) { begin(); return }
  const stop = new AbortController();
  navigator.locks.request('bossman-live', {signal: stop.signal}, () => { begin(); return new Promise(done => { release = done }) }).catch(() => {});
  release = () => stop.abort();
  channel.postMessage({kind: 'hello'});
  setTimeout(() => { if (!leading && cursor) soon() }, 300); // what happened before this tab listened
}
addEventListener('pagehide', () => { es?.close(); leading = false; release?.() });
addEventListener('pageshow', e => { if (e.persisted) { lead(); soon() } });

// ---- keyboard ----
const places = {n: '/', i: '/inbox', r: '/review', b: '/board', t: '/timeline', l: '/landing'};
let prefix = 0;
const rows = () => all('.need > li, .ask, .tile, .grid tbody tr, .diff .h, .tries > li, [data-row]', $('#main')).filter(r => r.offsetParent);
function move(by) {
  const list = rows(), at = list.findIndex(r => r.contains(document.activeElement));
  const r = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))];
  if (!r) return;
  let target = $('h3 a, .btn, a, button, textarea', r);
  if (!target) { r.tabIndex = -1; target = r }
  target.focus({preventScroll: true});
  r.scrollIntoView({block: 'nearest'});
}
function talk(by) { // to the next comment of a review
  const list = all('[data-talk], #say-text'), here = document.activeElement;
  if (!list.length) return;
  let at = list.findIndex(t => t.contains(here));
  if (at < 0) { // the next one from where the page is
    at = list.findIndex(t => t.getBoundingClientRect().top > 60);
    at = by > 0 ? (at < 0 ? 0 : at) : (at < 0 ? list.length : at) - 1;
  } else at += by;
  const t = list[(at + list.length) % list.length];
  t.focus({preventScroll: true});
  t.scrollIntoView({block: 'center'});
}
function help() {
  let d = $('#help');
  if (!d) {
    d = document.createElement('dialog');
    d.id = 'help';
    d.className = 'card pad';
    d.setAttribute('aria-label', 'Keyboard');
    const h = document.createElement('h2'), dl = document.createElement('dl');
    h.textContent = 'Keyboard';
    dl.className = 'facts';
    for (const [k, what] of [['j, k', 'next, previous'], ['n, p', 'next, previous comment'], ['a, r', 'to the buttons that accept, and send back'], ['Enter', 'open'], ['/', 'search'], ['g n', 'Now'], ['g i', 'Inbox'], ['g r', 'Review'], ['g b', 'Board'], ['g t', 'Timeline'], ['g l', 'Landing'], ['?', 'this list'], ['Esc', 'close']]) {
      const dt = document.createElement('dt'), kbd = document.createElement('kbd'), dd = document.createElement('dd');
      kbd.textContent = k;
      dd.textContent = what;
      dt.append(kbd);
      dl.append(dt, dd);
    }
    d.append(h, dl);
    d.addEventListener('click', e => { if (e.target === d) d.close() });
    document.body.append(d);
  }
  if (d.open) d.close(); else d.showModal();
}
document.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const t = e.target;
  if (t.closest('input, textarea, select, [contenteditable]')) { if (e.key === 'Escape') t.blur(); return }
  if (Date.now() - prefix < 1500 && places[e.key]) {
    const a = all('.side a').find(a => a.pathname === places[e.key]);
    prefix = 0;
    if (a) { e.preventDefault(); location.href = a.href }
    return;
  }
  prefix = 0;
  switch (e.key) {
  case 'j': move(1); break;
  case 'k': move(-1); break;
  case 'g': prefix = Date.now(); break;
  case '?': help(); break;
  case '/': { const s = $('input[type=search]'); if (!s) return; s.focus(); s.select(); break }
  case 'n': talk(1); break;
  case 'p': talk(-1); break;
  default: { // a button that has a key gets the focus; Enter presses it
    const b = $('[data-key="' + (/^[a-z]$/.test(e.key) ? e.key : '') + '"]');
    if (!b) return;
    b.focus();
  }
  }
  e.preventDefault();
});

tick();
setInterval(tick, 1000);
lead();
})();
