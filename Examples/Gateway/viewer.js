// Watches stream 1 of the Janus gateway that gateway.json names. Janus speaks JSON over a WebSocket: a session, in it a
// handle of the streaming plugin, and over that the offer and the answer of WebRTC.
"use strict";

const STREAM = 1;
// Janus ends a session that has been silent for a minute.
const KEEPALIVE = 25_000;

const video = document.getElementById("video");
const state = document.getElementById("state");
const connection = new RTCPeerConnection();

/** Requests to Janus over one WebSocket, and what it says by itself. */
class Gateway {
  constructor(socket) {
    this.socket = socket;
    this.waiting = new Map();
    socket.onmessage = ({ data }) => this.receive(JSON.parse(data));
  }

  request(message) {
    const transaction = crypto.randomUUID();
    return new Promise((resolve, reject) => {
      this.waiting.set(transaction, { resolve, reject });
      this.socket.send(JSON.stringify({ ...this.place, ...message, transaction }));
    });
  }

  receive(message) {
    const refusal = message.error ?? message.plugindata?.data?.error;
    const waiting = this.waiting.get(message.transaction);
    this.waiting.delete(message.transaction);
    if (refusal) (waiting?.reject ?? show)(new Error(refusal.reason ?? refusal));
    else waiting?.resolve(message.data);
    if (message.jsep) answer(this, message.jsep).catch(show);
  }
}

function show(problem) {
  state.textContent = problem.message ?? problem;
}

async function answer(gateway, offer) {
  await connection.setRemoteDescription(offer);
  await connection.setLocalDescription();
  await gateway.request({ janus: "message", body: { request: "start" }, jsep: connection.localDescription });
  // Show each frame as soon as it is decoded. Without this the browser delays frames to make the motion smooth.
  const { mid } = connection.getTransceivers()[0];
  await gateway.request({ janus: "message", body: { request: "configure", mid, min_delay: 0, max_delay: 0 } });
}

async function watch() {
  const { websocket } = await (await fetch("gateway.json")).json();
  const socket = new WebSocket(websocket, "janus-protocol");
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`The gateway at ${websocket} does not answer.`));
  });
  socket.onclose = () => {
    connection.close();
    show("The gateway has closed the connection. Reload the page to connect again.");
  };
  const gateway = new Gateway(socket);
  gateway.place = { session_id: (await gateway.request({ janus: "create" })).id };
  const handle = await gateway.request({ janus: "attach", plugin: "janus.plugin.streaming" });
  gateway.place.handle_id = handle.id;
  connection.onicecandidate = ({ candidate }) =>
    gateway.request({ janus: "trickle", candidate: candidate ?? { completed: true } }).catch(show);
  setInterval(() => gateway.request({ janus: "keepalive" }).catch(show), KEEPALIVE);
  await gateway.request({ janus: "message", body: { request: "watch", id: STREAM } });
}

connection.ontrack = ({ track }) => (video.srcObject = new MediaStream([track]));
connection.onconnectionstatechange = () => {
  show(connection.connectionState === "connected" ? "" : `The connection is ${connection.connectionState}.`);
};
watch().catch(show);
